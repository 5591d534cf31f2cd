import type { LayoutOptions } from '../../lib/csv/layout.ts'
import { createPurchaseParser } from '../../lib/csv/purchase-parser.ts'
import type { PassedOver } from '../../lib/domain/import.ts'
import type { NewPurchase } from '../../lib/domain/purchase.ts'
import type { ErrorDetail } from '../../lib/errors.ts'

export const STORE: LayoutOptions = { is_sandbox: false, refundsOnly: false, currency: 'USD' }

/**
 * Reads a file byte by byte: the result must not depend on chunk boundaries. Returns its purchases
 * without empty fields, its errors, and why rows were passed over.
 */
export function read(file: readonly string[] | Uint8Array, options: Partial<LayoutOptions> = {}) {
  const purchases: object[] = []
  const errors: ErrorDetail[] = []
  const reasons: PassedOver[] = []
  let name = ''
  const rules = { currency: 'USD' }
  const parser = createPurchaseParser(
    rules,
    { ...STORE, ...options },
    {
      layout: (layout) => {
        name = layout.name
      },
      purchase: (purchase) => purchases.push(withoutEmpty(purchase)),
      leftOut: ({ passedOver }) => void reasons.push(passedOver),
      passedOver: (reason) => void reasons.push(reason),
      error: (error) => errors.push(error),
    },
  )
  const bytes = file instanceof Uint8Array ? file : Buffer.from(file.join('\n'))
  for (const byte of bytes) parser.push(Uint8Array.of(byte))
  parser.end()
  return { name, purchases, errors, passedOver: reasons.length, reasons }
}

function withoutEmpty({ line: _, metadata: __, ...purchase }: NewPurchase): object {
  return JSON.parse(
    JSON.stringify({ ...purchase, purchased_at: new Date(purchase.purchased_at).toISOString() }),
  )
}

export function shortOf({ line, column, code }: ErrorDetail): string {
  return [line, column, code].filter((part) => part !== undefined).join(' ')
}
