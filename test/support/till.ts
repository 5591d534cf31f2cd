import assert from 'node:assert/strict'
import {
  createMemoryStorage,
  createTill,
  type Till,
  TillError,
  type TillOptions,
} from '../../lib/index.ts'

/** A till on memory storage, unless the options name another one. */
export function memoryTill(options: Partial<TillOptions> = {}): Till {
  return createTill({ storage: createMemoryStorage(), ...options })
}

/** Creates an account with a project, a store `main` and an item `gold`. */
export async function createShop(till: Till, name = 'Studio') {
  const account = await till.accounts.create({ name })
  const project = await till.projects.create(account, {
    account_id: account.account_id,
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
  })
  const store = await till.stores.create(account, {
    project_id: project.id,
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
  const { session } = await till.sessions.init(project.public_key, { user_id: 'player' })
  return { account, project, store, item, token: session.token }
}

/** A file as a sequence of chunks. */
export async function* fileOf(...chunks: string[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

/** A clock that moves only when the test says so. */
export function createClock(start: number) {
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
