import assert from 'node:assert/strict'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { TestContext } from 'node:test'
import {
  createMemoryStorage,
  createTill,
  type Storage,
  type Till,
  TillError,
  type TillOptions,
} from '../../lib/index.ts'
import type { PostgresServer } from './postgres.ts'

/** The server for the storages of a running test: see databases.ts. */
export const onPostgres = new AsyncLocalStorage<{
  readonly server: PostgresServer
  readonly t: TestContext
}>()

/** An empty storage: in memory, or on PostgreSQL in a test that runs there. */
export async function openStorage(): Promise<Storage> {
  const on = onPostgres.getStore()
  return on ? on.server.openEmpty(on.t) : createMemoryStorage()
}

/** A till on memory storage, unless the options name another one. */
export function memoryTill(options: Partial<TillOptions> = {}): Till {
  return createTill({ storage: createMemoryStorage(), ...options })
}

/** An account with a project, a store `main`, an item `gold`, and a token of a player. */
export type Shop = Awaited<ReturnType<typeof createShop>>

/** Creates a shop on a till, or on a new one with these options and an empty storage. */
export async function createShop(on: Till | Partial<TillOptions> = {}, name = 'Studio') {
  const till = 'accounts' in on ? on : createTill({ storage: await openStorage(), ...on })
  const account = await till.accounts.create({ name })
  const { account_id, account_key } = account
  const project = await till.projects.create(account, {
    account_id,
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
  })
  const { id: project_id, public_key } = project
  const store = await till.stores.create(account, {
    project_id,
    store_id: 'main',
    store_type: 'web',
    store_config: { currency: 'USD' },
  })
  const item = await till.items.create(account, {
    store_id: 'main',
    name: 'gold',
    display_name: 'Gold',
    price: '499',
    type: 'consumable',
  })
  const { session } = await till.sessions.init(public_key, { user_id: 'player' })
  const { token } = session
  return {
    till,
    account,
    account_id,
    account_key,
    project,
    project_id,
    public_key,
    store,
    item,
    token,
  }
}

/** A file as a sequence of chunks. */
export async function* fileOf(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

/** The time at which the clocks of most tests start. */
export const NOW = Date.UTC(2024, 2, 1, 12, 34, 56, 789)

/** A clock that moves only when the test says so. */
export function createClock(start = NOW) {
  let now = start
  return {
    now: () => now,
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

/** Returns the error of an operation as its caller sees it. */
export async function failureOf(operation: Promise<unknown>) {
  const error = await operation.then(
    () => assert.fail('it succeeded'),
    (reason: unknown) => reason,
  )
  if (!(error instanceof TillError)) throw error
  const { code, kind, title, message, details, total } = error
  return { code, kind, title, message, details, total }
}
