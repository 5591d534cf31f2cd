import type { NewPurchase, PurchaseRules } from '../domain/purchase.ts'
import type { ErrorDetail } from '../errors.ts'
import type { Layout, LayoutOptions } from './layout.ts'
import { type BadRow, createPurchaseParser } from './purchase-parser.ts'

/** The rows and errors that end in one chunk of a file. */
export interface Batch extends BatchNotes {
  readonly rows: NewPurchase[]
}

/** A batch without its good rows. */
export interface BatchNotes {
  /** The bytes of the chunk. */
  readonly bytes: number
  /** The layout of the file; only in the batch that contains the end of the header line. */
  layout?: FileLayout
  /** Bad rows and errors, in the order of their lines. */
  readonly faults: (BadRow | ErrorDetail)[]
  /** The number of rows of another store. */
  passedOver: number
  /** Whether the header has an error. Further batches are empty. */
  readonly isRefused: boolean
}

export type FileLayout = Pick<Layout, 'name' | 'columns' | 'ignored'>

/** Parses a purchase file chunk by chunk. */
export interface BatchParser {
  push(chunk: Uint8Array): Batch
  end(): Batch
}

export function createBatchParser(rules: PurchaseRules, options: LayoutOptions): BatchParser {
  let batch = createBatch(0)

  const parser = createPurchaseParser(rules, options, {
    layout({ name, columns, ignored }) {
      batch.layout = { name, columns, ignored }
    },
    purchase: (purchase) => void batch.rows.push(purchase),
    badRow: (row) => void batch.faults.push(row),
    passedOver() {
      batch.passedOver++
    },
    error: (error) => void batch.faults.push(error),
  })

  return {
    push(chunk) {
      batch = createBatch(chunk.length)
      parser.push(chunk)
      return { ...batch, isRefused: parser.isRefused }
    },
    end() {
      batch = createBatch(0)
      parser.end()
      return { ...batch, isRefused: parser.isRefused }
    },
  }
}

function createBatch(bytes: number): Batch {
  return { bytes, rows: [], faults: [], passedOver: 0, isRefused: false }
}
