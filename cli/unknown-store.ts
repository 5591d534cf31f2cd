import { type ErrorDetail, excerpt, TillError } from '../lib/index.ts'
import type { Invocation } from './command.ts'
import { hint } from './program.ts'
import { suggest } from './suggestion.ts'

/** The maximum number of stores that are compared with an unknown one. */
const MAX_COMPARED = 1_000
/** If the account has at most this many stores, the error names them. */
const MAX_NAMED = 5

/**
 * Runs a command. If there is no store with the id of `--store`, its error repeats the id. The error
 * also names the nearest store, a few stores, or the command that lists them.
 */
export async function withStoreHint<T>(invocation: Invocation, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { store } = invocation.options
    if (typeof store !== 'string' || !isUnknownStore(error)) throw error
    const known = hintFor(store, await storesOf(invocation), invocation.db)
    const message = `names no store of this account: ${JSON.stringify(excerpt(store))}; ${known}`
    const detail = { field: 'store_id', code: 'unknown', message }
    throw new TillError('invalid_request', `store_id ${message}`, [detail])
  }
}

function isUnknownStore(error: unknown): boolean {
  if (!(error instanceof TillError)) return false
  const isStore = ({ field, code }: ErrorDetail) => field === 'store_id' && code === 'unknown'
  return error.code === 'store_not_found' || error.details.some(isStore)
}

function hintFor(store: string, known: readonly string[], db: string): string {
  const nearest = suggest(store, known)
  if (nearest) return `did you mean ${nearest}?`
  if (known.length > MAX_NAMED) return `${hint('store list --project ID', db)} lists them`
  return known.length === 0 ? 'it has none yet' : `it has ${known.join(', ')}`
}

async function storesOf({ till, account: caller, options }: Invocation): Promise<string[]> {
  const account = caller ?? (await till.accounts.ownerOf(`${options.project}`))
  const found: string[] = []
  for await (const { id: project_id } of till.projects.all(account)) {
    for await (const { store_id } of till.stores.all(account, { project_id })) {
      if (found.push(store_id) === MAX_COMPARED) return found
    }
  }
  return found
}
