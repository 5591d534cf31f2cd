import {
  type NewPurchase,
  PURCHASE_FIELDS,
  type PurchaseCells,
  type PurchaseField,
  type PurchaseRules,
  parsePurchase,
} from '../domain/purchase.ts'
import type { ErrorDetail } from '../errors.ts'
import { type CsvParser, createCsvParser } from './parser.ts'

/** What a purchase file tells, in the order of its lines. */
export interface PurchaseFileHandlers {
  /** `ignored` names the columns that are not stored. */
  columns(columns: PurchaseColumns, ignored: readonly string[]): void
  purchase(purchase: NewPurchase): void
  error(error: ErrorDetail): void
}

/** For each field that the file has, its column's name as the header spells it. */
export type PurchaseColumns = { readonly [F in PurchaseField]?: string }

/** Other names that a column may go by, beside the field's own. */
const ALIASES: { readonly [alias: string]: PurchaseField } = {
  purchase_id: 'transaction_id',
  order_id: 'transaction_id',
  item: 'sku',
  item_name: 'sku',
  product_id: 'sku',
  date: 'purchased_at',
  created_at: 'purchased_at',
}

const REQUIRED = ['transaction_id', 'sku', 'purchased_at'] as const

/** Parses a canonical purchase file. After a header that can not be used, rows are passed over. */
export function createPurchaseParser(
  rules: PurchaseRules,
  handlers: PurchaseFileHandlers,
): CsvParser {
  let header: Header | undefined

  return createCsvParser({
    header(cells) {
      const found = readHeader(cells)
      for (const error of found.errors) handlers.error(error)
      if (found.errors.length > 0) return
      header = found
      handlers.columns(header.columns, header.ignored)
    },
    row(cells, line) {
      if (!header) return
      const { columns, positions } = header
      const report = (field: PurchaseField, code: string, message: string) =>
        handlers.error({ line, column: columns[field] ?? field, code, message })
      const purchase = parsePurchase(pickCells(cells, positions), line, rules, report)
      if (purchase) handlers.purchase(purchase)
    },
    error: (error) => handlers.error({ ...error }),
  })
}

interface Header {
  readonly columns: PurchaseColumns
  readonly positions: { readonly [F in PurchaseField]?: number }
  readonly ignored: readonly string[]
  readonly errors: readonly ErrorDetail[]
}

function readHeader(cells: readonly string[]): Header {
  const columns: { [F in PurchaseField]?: string } = {}
  const positions: { [F in PurchaseField]?: number } = {}
  const ignored: string[] = []
  const errors: ErrorDetail[] = []
  for (const [position, cell] of cells.entries()) {
    const field = fieldOf(cell)
    if (!field) {
      ignored.push(cell)
    } else if (columns[field] === undefined) {
      columns[field] = cell
      positions[field] = position
    } else {
      const message = `means ${field}, and so does the column ${columns[field]}: keep one of them`
      errors.push({ line: 1, column: cell, code: 'duplicate_column', message })
    }
  }
  for (const field of REQUIRED.filter((each) => columns[each] === undefined)) {
    const names = [field, ...Object.keys(ALIASES).filter((alias) => ALIASES[alias] === field)]
    const message = `is missing: the header needs one column named ${names.join(' or ')}`
    errors.push({ line: 1, column: field, code: 'missing_column', message })
  }
  return { columns, positions, ignored, errors }
}

function fieldOf(cell: string): PurchaseField | undefined {
  const name = cell.trim().toLowerCase()
  const field = (PURCHASE_FIELDS as readonly string[]).includes(name) && (name as PurchaseField)
  return field || (Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined)
}

function pickCells(cells: readonly string[], positions: Header['positions']): PurchaseCells {
  const cell = (field: PurchaseField) => cells[positions[field] ?? -1] ?? ''
  return {
    transaction_id: cell('transaction_id'),
    sku: cell('sku'),
    purchased_at: cell('purchased_at'),
    user_id: cell('user_id'),
    quantity: cell('quantity'),
    price: cell('price'),
    currency: cell('currency'),
    status: cell('status'),
    metadata: cell('metadata'),
  }
}
