// run: early
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { createTill, type Session, type Storage } from '../../lib/index.ts'
import { takeInventory } from '../../lib/storage/copy.ts'
import type { KeyedAccount } from '../../lib/storage/port.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createSignal } from '../support/server.ts'
import { newGame, SILVER, WRITES, type Write } from '../support/services/writes.ts'
import { createShop, fileOf, openStorage } from '../support/till.ts'

type Verb = keyof Storage

const HEADER = 'transaction_id,sku,purchased_at\n'
const ROW = 'T-1,gold,2024-03-01T12:34:56Z\n'
const ONCE = { idempotencyKey: 'k-1' }

/** Every write of an account that begins with a read. */
const KEY_WRITES: Record<
  string,
  Pick<Write, 'method'> & {
    prepare?(shop: Shop): Promise<unknown>
    make(shop: Shop): Promise<unknown>
  }
> = {
  ...WRITES,
  'a repeat of projects.create with an idempotency key': {
    method: 'findIdempotencyRecord',
    prepare: ({ till, key }) => till.projects.create(key, newGame(key), ONCE),
    make: ({ till, key }) => till.projects.create(key, newGame(key), ONCE),
  },
  'projects.create with an idempotency key': {
    method: 'insertProject',
    make: ({ till, key }) => till.projects.create(key, newGame(key), ONCE),
  },
  'catalog.apply': {
    method: 'applyCatalog',
    make: ({ till, key, project_id }) => {
      const catalog = { stores: [{ store_id: 'main', items: [{ name: 'gold', price: '7' }] }] }
      return till.catalog.apply(key, { project_id, catalog })
    },
  },
  'purchases.record': {
    method: 'recordPurchase',
    make: ({ till, key }) => {
      const sale = { store_id: 'main', sku: 'gold', transaction_id: 'T-1' }
      return till.purchases.record(key, { ...sale, purchased_at: '2024-03-01T12:34:56Z' })
    },
  },
  'users.erase, whose audit entries are next': {
    method: 'pseudonymizeAudit',
    prepare: ({ till, key, project_id }) =>
      till.sessions.revoke(key, { project_id, user_id: 'player' }),
    make: ({ till, key, project_id }) => till.users.erase(key, { project_id, user_id: 'player' }),
  },
  'items.create of a name that is taken': {
    method: 'insertItem',
    make: ({ till, key }) => till.items.create(key, { ...SILVER, name: 'gold' }),
  },
}

type Revoke = (shop: Shop) => Promise<unknown>

const revokeKey: Revoke = ({ till, operator, key }) => till.accounts.revokeKey(operator, key.key_id)
const revokeTokens: Revoke = ({ till, operator, project_id }) =>
  till.sessions.revoke(operator, { project_id })
const disableProject: Revoke = ({ till, operator, project_id: id }) =>
  till.projects.update(operator, { id, status: 'disabled' })
const disableStore: Revoke = ({ till, operator }) =>
  till.stores.update(operator, { store_id: 'main', status: 'disabled' })

const IMPORTS: [string, (shop: Shop) => KeyedAccount | Session, Revoke, string][] = [
  ['the tokens were revoked', ({ session }) => session, revokeTokens, 'token_required'],
  ['the project was disabled', ({ session }) => session, disableProject, 'token_required'],
  ['the account key was revoked', ({ key }) => key, revokeKey, 'account_key_required'],
  ["an account's store was disabled", ({ key }) => key, disableStore, 'store_inactive'],
  ['the store was disabled', (s) => s.operator as never, disableStore, 'store_inactive'],
]

describe('between a check and its write', () => {
  for (const [what, { method, prepare, make }] of Object.entries(KEY_WRITES)) {
    if (method === undefined) continue
    test(`the account key is revoked: ${what}`, async () => {
      const shop = await setUp()
      await prepare?.(shop)

      const failed = shop.interrupt(
        method,
        () => make(shop),
        () => revokeKey(shop),
      )

      await assert.rejects(failed, { code: 'account_key_required' })
      await shop.assertUnchanged()
    })
  }

  for (const [what, revoke] of Object.entries({ revokeTokens, disableProject })) {
    test(`${what}: projects.update by a token`, async () => {
      const shop = await setUp()
      const { till, session, project_id: id } = shop
      const update = () => till.projects.update(session, { id, name: 'New' })

      const failed = shop.interrupt('updateProject', update, () => revoke(shop))

      await assert.rejects(failed, { code: 'token_required' })
      await shop.assertUnchanged()
    })
  }

  for (const dry_run of [false, true]) {
    for (const [what, callerOf, revoke, code] of IMPORTS) {
      test(`${what} in the middle of ${dry_run ? 'a dry run' : 'a file'}`, async () => {
        const shop = await setUp()
        async function* file() {
          yield* fileOf(HEADER, ROW)
          await shop.revoke(() => revoke(shop))
          yield* fileOf(ROW.replace('T-1', 'T-2'))
        }
        const request = { store_id: 'main', file: file(), dryRun: dry_run }

        const failed = shop.till.purchases.import(callerOf(shop), request)

        await assert.rejects(failed, { code })
        await shop.assertUnchanged()
        // The failed import does not block the next one.
        await shop.till.stores.update(shop.operator, { store_id: 'main', status: 'active' })
        const next = { store_id: 'main', file: fileOf(HEADER, ROW) }
        assert.equal((await shop.till.purchases.import(shop.operator, next)).added, 1)
      })
    }
  }

  test('another call changes other fields, and neither change is lost', async () => {
    const shop = await setUp()
    const { till, key, project_id: id } = shop
    const { update } = till.projects
    const [name, platform] = ['New', 'web']

    await shop.interrupt(
      'updateProject',
      () => update(key, { id, name }),
      () => update(key, { id, platform }),
    )
    await shop.interrupt(
      'updateStore',
      () => till.stores.update(key, { store_id: 'main', status: 'paused' }),
      () => till.stores.update(key, { store_id: 'main', is_sandbox: true }),
    )

    const project = await till.projects.get(key, id)
    assert.deepEqual([project.name, project.platform], [name, platform])
    const { status, is_sandbox } = await till.stores.get(key, 'main')
    assert.deepEqual([status, is_sandbox], ['paused', true])
  })

  for (const user_id of ['player', undefined]) {
    test(`another revocation ends, and a token is issued: ${user_id ?? 'a project'}`, async () => {
      const shop = await setUp()
      const { till, operator, project_id, public_key } = shop
      const named = user_id === undefined ? { project_id } : { project_id, user_id }
      const revoke = () => till.sessions.revoke(operator, named)
      let token = ''

      await shop.interrupt('revokeTokens', revoke, async () => {
        await revoke()
        token = (await till.sessions.token(public_key, { user_id: 'player' })).token
        await till.sessions.authenticate(token)
      })

      await assert.rejects(till.sessions.authenticate(token), { code: 'token_required' })
    })
  }

  for (const opens of ['init', 'token', 'accessToken'] as const) {
    test(`the public key is rotated and its tokens are revoked: ${opens}`, async () => {
      const shop = await setUp()
      const { till, operator, project_id: id, public_key } = shop
      const call = async (): Promise<unknown> =>
        till.sessions[opens](public_key, { user_id: 'player' })

      const failed = shop.interrupt('findWatermark', call, async () => {
        await till.projects.rotateKey(operator, { id, grace_period: 0 })
        await till.sessions.revoke(operator, { project_id: id })
      })

      await assert.rejects(failed, { code: 'invalid_public_key' })
    })
  }
})

type Shop = Awaited<ReturnType<typeof setUp>>

/** A till whose storage can hold back one method call until something else is done. */
async function setUp() {
  const storage = await openStorage()
  const held: Storage = { ...storage, noteKeyUse: async () => 0 } // is written a second later
  const till = createTill({ storage: held })
  const shop = await createShop(till)
  const { key_id: spare } = await till.accounts.addKey(shop.account)
  const inventory = () => takeInventory(storage, new Date().toISOString())
  let before = await inventory()

  /** Does something else, and takes the result as the expected final state. */
  const revoke = async (meanwhile: () => Promise<unknown>) => {
    await meanwhile()
    before = await inventory()
  }

  return {
    ...shop,
    key: await till.accounts.authenticate(shop.account_key),
    session: await till.sessions.authenticate(shop.token),
    operator: await till.accounts.get(shop.account_id),
    spare,
    revoke,
    /** Makes a call, and runs `meanwhile` just before the storage method runs. */
    async interrupt<T>(verb: Verb, call: () => Promise<T>, meanwhile: () => Promise<unknown>) {
      const entered = createSignal()
      const opened = createSignal()
      const original = storage[verb] as (...args: unknown[]) => Promise<unknown>
      const hold = async (...args: unknown[]) => {
        Object.assign(held, { [verb]: original })
        entered.give()
        await opened.given
        return original(...args)
      }
      Object.assign(held, { [verb]: hold })
      const called = call()
      called.catch(() => {}) // reported below
      await Promise.race([entered.given, called])
      await revoke(meanwhile)
      opened.give()
      return called
    },
    async assertUnchanged() {
      assert.deepEqual(await inventory(), before)
    },
  }
}
