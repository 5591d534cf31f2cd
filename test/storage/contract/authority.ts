import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Authority } from '../../../lib/domain/authority.ts'
import { takeInventory } from '../../../lib/storage/copy.ts'
import type { Storage, WriteOptions } from '../../../lib/storage/port.ts'
import { AT, insertProjects, insertShops, MAIN, newKey, newRow } from '../fixtures/records.ts'
import { auditOf, LATER, newEntry, newIdempotencyRecord } from '../fixtures/writes.ts'
import { CHANGES } from './audit.ts'
import type { OpenStorage } from './open.ts'

const KEY: Authority = { key_id: 'key_hash-1' }
const TOKEN: Authority = {
  token: { project_id: 'prj_1', user_id: 'ann', issued_under: 5, issued_at: 0 },
}
const OLD_TOKEN: Authority = {
  token: { project_id: 'prj_1', user_id: 'ann', issued_under: undefined, issued_at: 5 },
}
const STORE: Authority = { store: MAIN }

const withStatus =
  (status: string) =>
  <T extends object>(record: T) => ({ ...record, status })

interface Revocation {
  readonly authority: Authority
  revoke(storage: Storage): Promise<unknown>
  readonly code: string
}

const REVOCATIONS: Record<string, Revocation> = {
  'a revoked account key': {
    authority: KEY,
    revoke: (storage) => storage.revokeAccountKey('acc_1', 'key_hash-1', AT),
    code: 'account_key_required',
  },
  'an unknown account key': {
    authority: { key_id: 'key_nobody' },
    revoke: async () => {},
    code: 'account_key_required',
  },
  'a token of a user whose tokens were revoked': {
    authority: TOKEN,
    revoke: (storage) => storage.revokeTokens({ project_id: 'prj_1', user_id: 'ann', at: 6 }),
    code: 'token_required',
  },
  'a token of a project whose tokens were revoked': {
    authority: TOKEN,
    revoke: (storage) => storage.revokeTokens({ project_id: 'prj_1', user_id: '', at: 6 }),
    code: 'token_required',
  },
  'a token of another tool, issued in the second of the revocation': {
    authority: OLD_TOKEN,
    revoke: (storage) => storage.revokeTokens({ project_id: 'prj_1', user_id: '', at: 5 }),
    code: 'token_required',
  },
  'a token of a disabled project': {
    authority: TOKEN,
    revoke: (storage) => storage.updateProject('prj_1', withStatus('disabled')),
    code: 'token_required',
  },
  'a token of an archived project': {
    authority: TOKEN,
    revoke: (storage) => storage.updateProject('prj_1', withStatus('archived')),
    code: 'token_required',
  },
  'a token of an unknown project': {
    authority: { token: { ...(TOKEN.token as object), project_id: 'prj_nobody' } as never },
    revoke: async () => {},
    code: 'token_required',
  },
  'a disabled store': {
    authority: STORE,
    revoke: (storage) => storage.updateStore(MAIN, withStatus('disabled')),
    code: 'store_inactive',
  },
}

export function describeAuthority(open: OpenStorage): void {
  for (const [what, { authority, revoke, code }] of Object.entries(REVOCATIONS)) {
    test(`a change is rejected and writes nothing with ${what}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await revoke(storage)
      const before = await takeInventory(storage, AT)
      const write: WriteOptions = {
        authority,
        audit: newEntry(),
        idempotency: newIdempotencyRecord(),
      }

      for (const [method, change] of Object.entries(CHANGES)) {
        await assert.rejects(change(storage, write), { code }, method)
        await assert.rejects(change(storage, { authority, audit: newEntry() }), { code }, method)
      }
      await assert.rejects(storage.insertAudit(write), { code })
      await assert.rejects(storage.verifyAuthority(authority), { code })
      const current = await storage.openImport(MAIN, 'imp_1')
      await current?.stage([newRow(2)])
      await current?.finish()
      await assert.rejects(current?.commit(write) ?? Promise.resolve(), { code })
      await current?.abort()

      assert.deepEqual(await takeInventory(storage, AT), before)
    })
  }

  for (const authority of [KEY, TOKEN, OLD_TOKEN, STORE, {}]) {
    test(`a change succeeds with the valid authority ${JSON.stringify(authority)}`, async (t) => {
      const storage = await open(t)
      await insertShops(storage)
      await storage.revokeAccountKey('acc_2', 'key_hash-2', AT)
      await storage.revokeTokens({ project_id: 'prj_1', user_id: 'bob', at: 9 })
      await storage.revokeTokens({ project_id: 'prj_2', user_id: '', at: 9 })
      await storage.revokeTokens({ project_id: 'prj_1', user_id: 'ann', at: 4 })
      await storage.updateProject('prj_2', withStatus('disabled'))
      const write: WriteOptions = { authority, audit: newEntry() }

      await storage.verifyAuthority(authority)
      // The changes that revoke the authority come last.
      const { revokeTokens, revokeAccountKey, ...others } = CHANGES
      for (const change of Object.values(others)) await change(storage, write)
      const current = await storage.openImport(MAIN, 'imp_1')
      await current?.stage([newRow(2)])
      await current?.finish()
      await current?.commit(write)
      await revokeTokens?.(storage, write)
      await storage.verifyAuthority(authority.token ? {} : authority)
      await revokeAccountKey?.(storage, authority.token ? {} : write)

      // One entry for each change and for the import, and one more for the new item of the catalog.
      const changes = Object.keys(CHANGES).length - (authority.token ? 1 : 0)
      assert.equal((await auditOf(storage)).length, changes + 2)
      assert.equal((await storage.listPurchases(MAIN, {}, { limit: 9 })).purchases.length, 1)
    })
  }

  test('a key can revoke itself, and of two keys that revoke each other one succeeds', async (t) => {
    const storage = await open(t)
    await insertProjects(storage)
    const key_ids = ['key_a', 'key_b', 'key_c']
    for (const key_id of key_ids) {
      await storage.insertAccountKey({ ...newKey('acc_1', key_id), key_id })
    }
    const revoke = (by: string, key_id: string) =>
      storage.revokeAccountKey('acc_1', key_id, LATER, { authority: { key_id: by } })

    assert.equal(await revoke('key_c', 'key_c'), true)
    const settled = await Promise.allSettled([revoke('key_a', 'key_b'), revoke('key_b', 'key_a')])

    const outcomes = settled.map((each) => (each.status === 'fulfilled' ? each.value : 'refused'))
    assert.deepEqual(outcomes.toSorted(), ['refused', true])
    const { records } = await storage.listAccountKeys('acc_1', { limit: 10 })
    const keys = records.filter(({ revoked_at }) => revoked_at)
    assert.equal(keys.length, 2)
  })
}
