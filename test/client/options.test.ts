import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClientOptions, createClient } from '../../client/index.ts'

const url = 'https://shop.example'
const publicKey = 'pk_1'

test('wrong options are a TypeError that names them and quotes no key', () => {
  const rows: [unknown, RegExp][] = [
    [undefined, /must be an object/],
    [{}, /option url is missing/],
    [{ url }, /publicKey, accountKey and getToken/],
    [{ url, publicKey, publickey: 'pk_1' }, /no option publickey/],
    [{ url: 'shop.example', publicKey }, /option url/],
    [{ url: '/shop', publicKey }, /option url/],
    [{ url: 'ftp://shop.example', publicKey }, /option url/],
    [{ url: 'https://user:secret@shop.example', publicKey }, /option url/],
    [{ url: 'https://shop.example/api/v1', publicKey }, /without \/api\/v1/],
    [{ url: 'https://shop.example/api/v1/', publicKey }, /without \/api\/v1/],
    [{ url: 'https://shop.example/?a=b', publicKey }, /option url/],
    [{ url: 'https://:x', publicKey }, /option url/],
    [{ url: new URL(url), publicKey }, /option url/],
    [{ url, publicKey: 'ak_secret' }, /option publicKey must be a public key/],
    [{ url, publicKey: '' }, /option publicKey/],
    [{ url, publicKey: 'pk_1\r\nx: y' }, /option publicKey/],
    [{ url, accountKey: publicKey }, /option accountKey must be an account key/],
    [{ url, publicKey, userId: '' }, /option userId/],
    [{ url, publicKey, userId: 7 }, /option userId/],
    [{ url, publicKey, deviceInfo: 'ios' }, /option deviceInfo/],
    [{ url, getToken: 'eyJ' }, /option getToken/],
    [{ url, publicKey, timeout: 0 }, /option timeout must be a whole number from 1 to/],
    [{ url, publicKey, timeout: '5s' }, /option timeout/],
    [{ url, publicKey, attempts: 11 }, /option attempts/],
    [{ url, publicKey, cacheSize: -1 }, /option cacheSize/],
  ]
  for (const [options, message] of rows) {
    assert.throws(
      () => createClient(options as ClientOptions),
      (error: Error) => {
        assert.ok(error instanceof TypeError)
        assert.match(error.message, message)
        assert.doesNotMatch(error.message, /secret/)
        return true
      },
    )
  }
})

test('a call rejects wrong options before it sends', async () => {
  const till = createClient({ url, publicKey, accountKey: 'ak_1', userId: 'player' })
  const store = { project_id: 'prj_1', store_type: 'web' } as const

  const rows = [
    till.items.get('itm_1', { singal: undefined } as object),
    till.items.get('itm_1', { signal: {} as AbortSignal }),
    till.sessions.init({ timeout: -1 }),
    till.stores.create(store, { idempotencyKey: '' }),
    till.stores.create(store, { idempotencyKey: 'ключ' }),
  ]
  for (const row of rows) await assert.rejects(row, TypeError)
})

test('a browser refuses an account key unless the program insists', (t) => {
  const global = globalThis as { document?: object }
  global.document = {}
  t.after(() => delete global.document)
  const options = { url, accountKey: 'ak_1' }

  assert.throws(() => createClient(options), /TypeError: An account key in a browser is visible/)
  createClient({ ...options, allowAccountKeyInBrowser: true })
  createClient({ url, publicKey })
})
