import { createReadStream } from 'node:fs'
import {
  type Account,
  countCells,
  type ErrorDetail,
  excerpt,
  type Till,
  TillError,
} from '../lib/index.ts'
import { suggest } from './suggestion.ts'

/** The maximum number of unknown SKUs that are named. */
const MAX_NAMED = 20

/** Collects the unknown SKUs of an import, to name each of them once instead of for each row. */
export function createUnknownSkus(file: string) {
  const lines = new Set<number>()
  let column = ''
  return {
    add(mistake: ErrorDetail): void {
      if (mistake.code !== 'unknown_sku') return
      lines.add(mistake.line ?? 0)
      column = mistake.column ?? ''
    },
    /** Returns the error of the import with one mistake for each unknown SKU. Reads the file again. */
    async summarize(error: TillError, till: Till, account: Account, store_id: string) {
      if (lines.size === 0) return error
      const unknown = await countCells(createReadStream(file), column, lines)
      const names: string[] = []
      for await (const { name } of till.items.all(account, { store_id })) names.push(name)
      const named = unknown.slice(0, MAX_NAMED).map(({ text, line, rows }) => {
        const count = rows === 1 ? '1 row' : `${rows.toLocaleString('en-US')} rows`
        const nearest = nearestTo(text, names)
        const hint = nearest ? `: did you mean ${nearest}?` : ''
        const sku = JSON.stringify(excerpt(text))
        const message = `${sku} is not the name of an item of this store, ${count}${hint}`
        return { line, column, code: 'unknown_sku', message }
      })
      const others = error.details.filter(({ code }) => code !== 'unknown_sku')
      const total = error.total - lines.size + unknown.length
      const sentence = error.message.replace(/, the first .*/, '')
      return new TillError(error.code, sentence, [...named, ...others], total)
    },
  }
}

function nearestTo(sku: string, names: readonly string[]): string | undefined {
  const lower = sku.trim().toLowerCase()
  const similar = names.filter((name) => Math.abs(name.length - lower.length) <= 2)
  const sameLetters = similar.find((name) => name.toLowerCase() === lower)
  return sameLetters ?? suggest(sku, similar)
}
