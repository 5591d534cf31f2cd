import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSessionRequest } from '../../lib/domain/session.ts'
import { problemsOf } from './problems.ts'

const KEY = 'pk_1'

describe('parseSessionRequest', () => {
  test('requires only a user_id', () => {
    assert.deepEqual(parseSessionRequest({ user_id: 'player' }, KEY), { user_id: 'player' })
    assert.deepEqual(
      problemsOf(() => parseSessionRequest({}, KEY)),
      ['user_id: required'],
    )
  })

  test('returns the known fields, and refuses others', () => {
    const device_info = {
      device_id: 'd-1',
      platform: 'ios',
      os_version: '17.4',
      app_version: '1.0.0',
    }
    const sent = { public_key: KEY, user_id: 'player', device_info, dlscheme: 'mygame' }

    assert.deepEqual(parseSessionRequest(sent, KEY), sent)
    assert.deepEqual(
      problemsOf(() => parseSessionRequest({ ...sent, scope: 'admin' }, KEY)),
      ['scope: unknown'],
    )
  })

  const good: [string, Record<string, unknown>][] = [
    ['the public_key of the header', { public_key: KEY }],
    ['a user_id of 255 characters', { user_id: 'x'.repeat(255) }],
    ['a user_id of 255 characters outside the BMP', { user_id: '\u{1F600}'.repeat(255) }],
    ['a user_id with any text', { user_id: 'Ülrich <a@b.c> / 7' }],
    ['an empty device_info', { device_info: {} }],
    ['device_info with unknown fields', { device_info: { model: 'x', ram: 8 } }],
    ['device_info with empty fields', { device_info: { device_id: '', os_version: '' } }],
    ['device_info with 255 characters', { device_info: { app_version: 'x'.repeat(255) } }],
    ['the platform android', { device_info: { platform: 'android' } }],
    ['the platform web', { device_info: { platform: 'web' } }],
    ['an empty dlscheme', { dlscheme: '' }],
    ['any dlscheme', { dlscheme: 'another+game-2.x' }],
  ]
  for (const [what, change] of good) {
    test(`accepts ${what}`, () => {
      const sent = { user_id: 'player', ...change }

      assert.deepEqual(parseSessionRequest(sent, KEY), sent)
    })
  }

  const bad: [string, Record<string, unknown>, ...string[]][] = [
    ['a public_key other than the header', { public_key: 'pk_2' }, 'public_key: mismatch'],
    ['an empty public_key', { public_key: '' }, 'public_key: mismatch'],
    ['a public_key that is null', { public_key: null }, 'public_key: mismatch'],
    ['a public_key in a list', { public_key: [KEY] }, 'public_key: mismatch'],
    ['no user_id', { user_id: undefined }, 'user_id: required'],
    ['an empty user_id', { user_id: '' }, 'user_id: invalid'],
    ['a user_id of 256 characters', { user_id: 'x'.repeat(256) }, 'user_id: invalid'],
    ['a user_id that is a number', { user_id: 7 }, 'user_id: invalid'],
    ['a user_id that is null', { user_id: null }, 'user_id: invalid'],
    ['a user_id with a line end', { user_id: 'a\nb' }, 'user_id: invalid'],
    ['a user_id with U+0000', { user_id: 'a\0' }, 'user_id: invalid'],
    ['a user_id with a C1 control', { user_id: 'a\u0085' }, 'user_id: invalid'],
    ['a user_id with a lone surrogate', { user_id: 'a\ud800' }, 'user_id: invalid'],
    ['device_info that is text', { device_info: 'ios' }, 'device_info: invalid'],
    ['device_info that is null', { device_info: null }, 'device_info: invalid'],
    ['device_info that is a list', { device_info: [] }, 'device_info: invalid'],
    [
      'an unknown platform',
      { device_info: { platform: 'windows' } },
      'device_info.platform: invalid',
    ],
    [
      'device fields that are not strings, or too long',
      { device_info: { device_id: 7, os_version: null, app_version: 'x'.repeat(256) } },
      'device_info.device_id: invalid',
      'device_info.os_version: invalid',
      'device_info.app_version: invalid',
    ],
    ['a dlscheme with ://', { dlscheme: 'mygame://' }, 'dlscheme: invalid'],
    ['a dlscheme that is null', { dlscheme: null }, 'dlscheme: invalid'],
    [
      'several errors at once',
      { public_key: 'x', user_id: '', device_info: 7, dlscheme: '://' },
      'public_key: mismatch',
      'user_id: invalid',
      'device_info: invalid',
      'dlscheme: invalid',
    ],
  ]
  for (const [what, change, ...problems] of bad) {
    test(`refuses ${what}`, () => {
      assert.deepEqual(
        problemsOf(() => parseSessionRequest({ user_id: 'player', ...change }, KEY)),
        problems,
      )
    })
  }
})
