import { trimBlanks } from '../domain/blanks.ts'
import type { PassedOver } from '../domain/import.ts'
import {
  type NewPurchase,
  type PurchaseField,
  type PurchaseRules,
  parsePurchase,
} from '../domain/purchase.ts'
import type { ErrorDetail } from '../errors.ts'
import { hasNeeded } from './columns.ts'
import { findLayout } from './find-layout.ts'
import type { CsvParser } from './interface.ts'
import type { Layout, LayoutOptions, LeftOut } from './layout.ts'
import { createCsvParser } from './parser.ts'

/** Receives the rows and errors of a purchase file, in the order of its lines. */
interface PurchaseFileHandlers {
  /** Called once, before all rows, unless the header has an error. */
  layout(layout: Layout): void
  purchase(purchase: NewPurchase): void
  /** Called for a row that is left out. */
  leftOut(row: LeftOut): void
  /** Called for the lines above the header. */
  passedOver(reason: PassedOver, rows: number): void
  /** Called for each error in the header, in a cell or a row, or in the file as a whole. */
  error(error: ErrorDetail): void
}

interface PurchaseParser extends CsvParser {
  /** Whether the header has an error. No handler is called after that error. */
  readonly isRefused: boolean
}

/** Parses a purchase file. After a bad header, it ignores all rows. */
export function createPurchaseParser(
  rules: PurchaseRules,
  options: LayoutOptions,
  handlers: PurchaseFileHandlers,
): PurchaseParser {
  let header: readonly string[] = []
  let layout: Layout | undefined
  let isRefused = false
  let mistakes: ErrorDetail[] = []
  const wrongFields = new Set<PurchaseField>()

  const wrong = (field: PurchaseField, code: string, message: string) => {
    // A wrong cell is read as an empty one. Its own mistake says all.
    if (code === 'required' && wrongFields.has(field)) return
    wrongFields.add(field)
    mistakes.push({ column: layout?.columns[field] ?? field, code, message })
  }

  const { layout: format } = options
  const parser = createCsvParser({
    ...(format && { isHeader: (cells) => hasNeeded(cells, format) }),
    skipped: (lines) => handlers.passedOver(BEFORE_HEADER, lines),
    header(cells, line) {
      header = cells.map(trimBlanks)
      const found = findLayout(header, options)
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
      const isLeftOut = 'passedOver' in canonical
      const purchase = isLeftOut ? undefined : parsePurchase(canonical, line, rules, wrong)
      if (purchase && mistakes.length === 0) return handlers.purchase(purchase)
      const found = mistakes
      mistakes = []
      wrongFields.clear()
      const whole = wholeRowMistake(cells, header)
      if (isLeftOut && !whole) return handlers.leftOut(canonical)
      for (const mistake of whole ? [whole] : found) handlers.error({ line, ...mistake })
    },
    error(error) {
      if (!isRefused) handlers.error({ ...error })
    },
  })

  return {
    push: parser.push,
    end() {
      parser.end()
      const mistake = layout?.end()
      if (mistake) handlers.error(mistake)
    },
    get isClosed() {
      return parser.isClosed
    },
    get isRefused() {
      return isRefused || parser.isClosed
    },
  }
}

/** Finds a mistake of the row as a whole. It is reported instead of the mistakes of cells. */
function wholeRowMistake(cells: readonly string[], header: readonly string[]) {
  if (cells.every((cell) => cell.trim() === '')) return EMPTY_ROW
  return cells.every((cell, i) => trimBlanks(cell) === header[i]) ? REPEATED_HEADER : undefined
}

const BEFORE_HEADER: PassedOver = { reason: 'before_header' }
const EMPTY_ROW = { code: 'empty_row', message: 'All cells of the row are empty: remove the row' }
const REPEATED_HEADER = {
  code: 'repeated_header',
  message: 'The row repeats the header, as in files joined together: remove the row',
}
