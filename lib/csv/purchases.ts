import {
  type NewPurchase,
  type PurchaseField,
  type PurchaseRules,
  parsePurchase,
} from '../domain/purchase.ts'
import type { ErrorDetail } from '../errors.ts'
import { findLayout, type Layout, type LayoutOptions } from './layout.ts'
import { type CsvParser, createCsvParser } from './parser.ts'

/** What a purchase file tells, in the order of its lines. */
export interface PurchaseFileHandlers {
  /** Told once, before all rows; not told when the header can not be used. */
  layout(layout: Layout): void
  purchase(purchase: NewPurchase): void
  badRow(row: BadRow): void
  /** A row that the layout passes over, because it is none of this store's. */
  passedOver(): void
  /** What is wrong with the header, or with a row as a whole. */
  error(error: ErrorDetail): void
}

/** A row with mistakes in its cells; its purchase is what it would be with these cells empty. */
export interface BadRow {
  readonly purchase: NewPurchase
  readonly mistakes: readonly CellMistake[]
}

export interface CellMistake {
  readonly field: PurchaseField
  readonly code: string
  readonly message: string
}

export interface PurchaseParser extends CsvParser {
  /** Whether the header can not be used: nothing more will be told of the file. */
  readonly isRefused: boolean
}

/** Parses a purchase file. After a header that can not be used, rows are passed over in silence. */
export function createPurchaseParser(
  rules: PurchaseRules,
  options: LayoutOptions,
  handlers: PurchaseFileHandlers,
): PurchaseParser {
  let header: readonly string[] = []
  let layout: Layout | undefined
  let isRefused = false
  let mistakes: CellMistake[] = []

  const wrong = (field: PurchaseField, code: string, message: string) => {
    mistakes.push({ field, code, message })
  }

  const parser = createCsvParser({
    header(cells, line) {
      header = cells
      const found = findLayout(cells, options)
      if ('read' in found) {
        layout = found
        handlers.layout(found)
      } else {
        isRefused = true
        for (const error of found) handlers.error({ ...error, line })
      }
    },
    row(cells, line) {
      if (!layout) return
      const canonical = layout.read(cells, wrong)
      if (!canonical) return handlers.passedOver()
      const purchase = parsePurchase(canonical, line, rules, wrong)
      if (mistakes.length === 0) return handlers.purchase(purchase)
      const whole = wholeRowMistake(cells, header)
      if (whole) handlers.error({ line, ...whole })
      else handlers.badRow({ purchase, mistakes })
      mistakes = []
    },
    error(error) {
      if (!isRefused) handlers.error({ ...error })
    },
  })

  return {
    push: parser.push,
    end: parser.end,
    get isClosed() {
      return parser.isClosed
    },
    get isRefused() {
      return isRefused || parser.isClosed
    },
  }
}

/** What is wrong with a bad row as a whole, where that says more than the mistakes of its cells. */
function wholeRowMistake(cells: readonly string[], header: readonly string[]) {
  if (cells.every((cell) => cell.trim() === '')) return EMPTY_ROW
  return cells.every((cell, i) => cell === header[i]) ? REPEATED_HEADER : undefined
}

const EMPTY_ROW = { code: 'empty_row', message: 'All cells of the row are empty: take it out' }
const REPEATED_HEADER = {
  code: 'repeated_header',
  message: 'The header comes again, as where one file was put after another: take it out',
}
