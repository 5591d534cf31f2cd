import { type ErrorDetail, type OnMistake, TillError, type UnknownSale } from '../../lib/index.ts'

/** The most mistakes of a file that the management API answers. */
export const MAX_MISTAKES = 1_000

/** Of further currencies, a SKU has no sales. */
const MAX_CURRENCIES = 20

interface UnknownSku {
  readonly mistake: ErrorDetail
  readonly title: string | undefined
  rows: number
  readonly sales: Map<string, { total: bigint; price: string }>
}

/** Collects the SKUs without an item, to name each of them once instead of for each row. */
export function createUnknownSkus() {
  const found = new Map<string, UnknownSku>()
  /** The other mistakes: those of the error may all be of unknown SKUs. */
  const others: ErrorDetail[] = []
  let total = 0
  const add: OnMistake = (mistake, sku, sale) => {
    if (sku === undefined) {
      if (others.length < MAX_MISTAKES) others.push(mistake)
      return
    }
    const known = found.get(sku)
    if (!known && found.size >= MAX_MISTAKES) return
    total++
    const each = known ?? { mistake, title: sale?.title || undefined, rows: 0, sales: new Map() }
    if (!known) found.set(sku, each)
    each.rows++
    if (sale) addSale(each.sales, sale)
  }
  return {
    add,
    /** The error of the import, with one detail for each SKU. */
    group(error: unknown): unknown {
      if (!(error instanceof TillError) || total === 0) return error
      const skus = [...found].map(([sku, each]) => detailOf(sku, each))
      const left = error.total - total
      const named = `${skus.length} unknown ${skus.length === 1 ? 'SKU' : 'SKUs'} in ${total} ${total === 1 ? 'row' : 'rows'}`
      const more = left === 0 ? '' : `, and ${left} other ${left === 1 ? 'mistake' : 'mistakes'}`
      return new TillError(error.code, `${named}${more}`, [...skus, ...others], {
        total: skus.length + left,
        most: MAX_MISTAKES,
      })
    },
  }
}

function addSale(sales: UnknownSku['sales'], { status, currency, price, quantity }: UnknownSale) {
  if (status !== 'purchased' || currency === undefined || price === undefined) return
  const known = sales.get(currency)
  if (!known && sales.size >= MAX_CURRENCIES) return
  const { total, price: before } = known ?? { total: 0n, price: '0' }
  const each = price % quantity === 0 ? String(price / quantity) : before
  sales.set(currency, { total: total + BigInt(price), price: each === '0' ? before : each })
}

function detailOf(sku: string, { mistake, title, rows, sales }: UnknownSku): ErrorDetail {
  const listed = [...sales].map(([currency, { total, price }]) => {
    return { currency, total: String(total), price }
  })
  return { ...mistake, sku, ...(title && { title }), rows, sales: listed }
}
