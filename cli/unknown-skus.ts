import {
  type Account,
  type ErrorDetail,
  excerpt,
  type Item,
  type Till,
  TillError,
} from '../lib/index.ts'
import type { Invocation } from './command.ts'
import type { STORE_OPTIONS } from './options.ts'
import { suggest } from './suggestion.ts'

/** The maximum number of unknown SKUs that are named. */
const MAX_NAMED = 20

const ADVICE = 'Create the missing items, or map SKUs to items: see --skus-template'

/** Collects the unknown SKUs of an import, to name each of them once instead of for each row. */
export function createUnknownSkus() {
  const unknown = new Map<string, { readonly mistake: ErrorDetail; rows: number }>()
  let total = 0
  let isOfSeveralApps = false
  return {
    /** The unknown SKUs; none if the file has several apps. */
    list: () => (isOfSeveralApps ? [] : [...unknown.keys()]),
    add(mistake: ErrorDetail, sku?: string): void {
      if (mistake.code === 'other_app') isOfSeveralApps = true
      if (sku === undefined) return
      const known = unknown.get(sku) ?? { mistake, rows: 0 }
      unknown.set(sku, known)
      known.rows++
      total++
    },
    /** Returns the error of the import with one mistake for each unknown SKU. */
    async summarize(error: TillError, till: Till, account: Account, store_id: string) {
      if (total === 0) return error
      const names = await namesOf(till, account, store_id)
      const named = [...unknown].slice(0, MAX_NAMED).map(([text, { mistake, rows }]) => {
        const count = rows === 1 ? '1 row' : `${rows.toLocaleString('en-US')} rows`
        const sku = JSON.stringify(excerpt(text))
        const hint = hintFor(text, names)
        return { ...mistake, message: `${sku} ${mistake.message}, ${count}${hint}` }
      })
      const others = error.details.filter(({ code }) => code !== 'unknown_sku')
      const sentence = error.message.replace(/, the first .*/, '')
      const left = error.total - total + unknown.size
      return new TillError(error.code, `${sentence}. ${ADVICE}`, [...named, ...others], {
        total: left,
      })
    },
  }
}

/** Runs `work`. If no item is named `sku`, adds the most similar name to the error. */
export async function withSkuHint<T>(
  { till, account }: { readonly till: Till; readonly account: Account },
  { store_id, sku }: { readonly store_id: string; readonly sku: string },
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof TillError)) throw error
    const isUnknown =
      error.code === 'item_not_found' || error.details.some(({ code }) => code === 'unknown_sku')
    const hint = isUnknown ? hintFor(sku, await namesOf(till, account, store_id)) : ''
    if (hint === '') throw error
    const details = error.details.map((each) =>
      each.code === 'unknown_sku' ? { ...each, message: `${each.message}${hint}` } : each,
    )
    throw new TillError(error.code, `${error.message}${hint}`, details, {
      total: error.total,
    })
  }
}

/** The item that the operand of a command names. */
export function findItem(invocation: Invocation<typeof STORE_OPTIONS>): Promise<Item> {
  const { till, account, operand: sku, input } = invocation
  const find = () => till.items.getByName(account, input.store_id, sku)
  return withSkuHint(invocation, { ...input, sku }, find)
}

/** The names of the items of a store, also of the archived ones. */
async function namesOf(till: Till, account: Account, store_id: string): Promise<string[]> {
  const names: string[] = []
  for (const archived of [false, true]) {
    for await (const { name } of till.items.all(account, { store_id, archived })) names.push(name)
  }
  return names
}

function hintFor(sku: string, names: readonly string[]): string {
  const lower = sku.trim().toLowerCase()
  const similar = names.filter((name) => Math.abs(name.length - lower.length) <= 2)
  const sameLetters = similar.find((name) => name.toLowerCase() === lower)
  const nearest = sameLetters ?? suggest(sku, similar)
  return nearest ? `: did you mean ${nearest}?` : ''
}
