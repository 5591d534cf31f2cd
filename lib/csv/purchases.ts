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
  /** A row that the layout passes over, because it is none of this store's. */
  passedOver(): void
  error(error: ErrorDetail): void
}

/** Parses a purchase file. After a header that can not be used, rows are passed over in silence. */
export function createPurchaseParser(
  rules: PurchaseRules,
  options: LayoutOptions,
  handlers: PurchaseFileHandlers,
): CsvParser {
  let layout: Layout | undefined
  let isRefused = false
  let line = 0
  let good = true

  const wrong = (field: PurchaseField, code: string, message: string) => {
    good = false
    handlers.error({ line, column: layout?.columns[field] ?? field, code, message })
  }

  return createCsvParser({
    header(cells, line) {
      const found = findLayout(cells, options)
      if ('read' in found) {
        layout = found
        handlers.layout(found)
      } else {
        isRefused = true
        for (const error of found) handlers.error({ ...error, line })
      }
    },
    row(cells, rowLine) {
      if (!layout) return
      line = rowLine
      good = true
      const canonical = layout.read(cells, wrong)
      if (!canonical) return handlers.passedOver()
      const purchase = parsePurchase(canonical, line, rules, wrong)
      if (good) handlers.purchase(purchase)
    },
    error(error) {
      if (!isRefused) handlers.error({ ...error })
    },
  })
}
