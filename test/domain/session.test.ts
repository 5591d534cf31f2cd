import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseSessionRequest } from '../../lib/domain/session.ts'
import { problemsOf, testFields } from './problems.ts'

const KEY = 'pk_1'
const parse = (sent: object) => parseSessionRequest(sent, KEY)

describe('parseSessionRequest', () => {
  test('returns the known fields, and refuses others', () => {
    const device_info = {
      device_id: 'd-1',
      platform: 'ios',
      os_version: '17.4',
      app_version: '1.0.0',
    }
    const sent = { public_key: KEY, user_id: 'player', device_info, dlscheme: 'mygame' }

    assert.deepEqual(parse(sent), sent)
    assert.deepEqual(
      problemsOf(() => parse({ ...sent, scope: 'admin' })),
      ['scope: unknown'],
    )
  })

  testFields(
    parse,
    { user_id: 'player' },
    {
      good: {
        public_key: [KEY],
        user_id: ['x'.repeat(255), '\u{1F600}'.repeat(255), 'Ülrich <a@b.c> / 7'],
        device_info: [{}, { model: 'x', ram: 8 }, { device_id: '', os_version: '' }],
        'device_info.app_version': ['x'.repeat(255)],
        'device_info.platform': ['android', 'web'],
        dlscheme: ['', 'another+game-2.x'],
      },
      bad: {
        user_id: [undefined, '', 'x'.repeat(256), 7, null, 'a\nb', 'a\0', 'a\u0085', 'a\ud800'],
        device_info: ['ios', null, []],
        'device_info.platform': ['windows'],
        'device_info.device_id': [7],
        'device_info.os_version': [null],
        'device_info.app_version': ['x'.repeat(256)],
        dlscheme: ['mygame://', null],
      },
    },
  )

  for (const public_key of ['pk_2', '', null, [KEY]]) {
    test(`refuses the public_key ${JSON.stringify(public_key)} beside the header's`, () => {
      assert.deepEqual(
        problemsOf(() => parse({ user_id: 'player', public_key })),
        ['public_key: mismatch'],
      )
    })
  }

  test('names all bad fields at once', () => {
    const sent = { public_key: 'x', user_id: '', device_info: 7, dlscheme: '://' }

    assert.deepEqual(
      problemsOf(() => parse(sent)),
      ['public_key: mismatch', 'user_id: invalid', 'device_info: invalid', 'dlscheme: invalid'],
    )
  })
})
