import {
  type Account,
  type CreatedAccount,
  type FirstProject,
  type NewProject,
  type NewStore,
  TillError,
} from '../lib/index.ts'
import type { Invocation, OptionSpecs } from './command.ts'
import { UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { hint } from './program.ts'

// The part of `--if-missing` that `account create`, `project create` and `store create` share.

type Context = Pick<Invocation, 'till' | 'io' | 'db'>

/** The option of a command that knows its records by their `key`. */
export function ifMissing(key: string) {
  return {
    'if-missing': { help: `if one with this ${key} exists, print it and change nothing` },
  } as const satisfies OptionSpecs
}

/** Also creates the first project if it is missing. A stored account has no key to print. */
export async function createAccountIfMissing(
  context: Context,
  name: string,
  first: FirstProject | undefined,
): Promise<Account & Partial<CreatedAccount>> {
  const { till, io, db } = context
  const created = await till.accounts.createIfMissing({ name })
  if (!('account_key' in created)) {
    noteExisting('account', {}, created, io)
    const another = hint(`account keys add --account ${created.account_id}`, db)
    io.stderr.write(`Its key was shown only once. To make another: ${another}\n`)
  }
  if (!first) return created
  const account = await till.accounts.get(created.account_id)
  return { ...created, project: await createProjectIfMissing(context, account, first) }
}

/** Resolves to the new project, or to the account's first one with this bundle id. */
export function createProjectIfMissing(
  { till, io }: Context,
  account: Account,
  input: Omit<NewProject, 'account_id'>,
) {
  const { bundle_id } = input
  const find = async () => {
    for await (const each of till.projects.all(account)) {
      if (each.bundle_id === bundle_id) return each
    }
    return undefined
  }
  // Of two processes that find none, the second gets the project of the first.
  const options = { idempotencyKey: `project ${bundle_id}` }
  return findOrCreate(
    'project',
    input,
    find,
    () => till.projects.create(account, input, options),
    io,
  )
}

/**
 * Resolves to the new store, or to the project's one with this `store_id`. Throws a UsageError
 * without an id.
 */
export function createStoreIfMissing({ till, io }: Context, account: Account, input: NewStore) {
  const { store_id } = input
  if (!store_id) throw new UsageError('--if-missing needs --store ID')
  const find = async () => {
    const stored = await till.stores.get(account, store_id).catch(unlessMissing)
    return stored?.project_id === input.project_id ? stored : undefined
  }
  return findOrCreate('store', input, find, () => till.stores.create(account, input), io)
}

async function findOrCreate<T extends object>(
  noun: string,
  input: object,
  find: () => Promise<T | undefined>,
  create: () => Promise<T>,
  io: Io,
): Promise<T> {
  const existing = await find()
  if (existing) {
    noteExisting(noun, input, existing, io)
    return existing
  }
  try {
    return await create()
  } catch (error) {
    const other = await find() // another process may have created it meanwhile
    if (other) return other
    throw error
  }
}

/** Says that a record exists already, and which of the given fields it has with another value. */
function noteExisting(noun: string, input: object, existing: object, { stderr }: Io): void {
  const stored = existing as { readonly [field: string]: unknown }
  const isOther = ([name, value]: [string, unknown]) =>
    typeof value === 'string' && stored[name] !== value
  const others = Object.entries(input).filter(isOther)
  const names = others.map(([name]) => name).join(', ')
  const differs = names === '' ? '' : `; it has another ${names}`
  stderr.write(`The ${noun} exists already, and was not changed${differs}\n`)
}

function unlessMissing(error: unknown): undefined {
  if (error instanceof TillError && error.code === 'store_not_found') return undefined
  throw error
}
