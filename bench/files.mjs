import { closeSync, openSync, writeSync } from 'node:fs'
import { googlePlayReport, webStoreFile } from '../dist/cli/demo-shop.js'

export const SKUS = Array.from({ length: 100 }, (_, i) => `sku_${i}`)
export const COLUMNS =
  'transaction_id,sku,purchased_at,user_id,quantity,price,currency,status,metadata'

/**
 * Writes a canonical purchase file, whose rows are numbered from `first`. The ids ascend, are in
 * random order, or nearly ascend: each 10,000 of them have the same beginning.
 */
export function writePurchases(path, rows, { random = false, nearly = false, first = 0 } = {}) {
  const digits = createDigits()
  const file = openSync(path, 'w')
  let text = `${COLUMNS}\n`
  for (let i = first; i < first + rows; i++) {
    // Looks like an order number of Google Play. The row's number makes it unique.
    const start = nearly ? 1_000 + Math.floor(i / 10_000) : digits(4)
    const id =
      random || nearly
        ? `GPA.${start}-${digits(4)}-${digits(4)}-${String(i).padStart(8, '0')}`
        : `GPA.${String(i).padStart(10, '0')}`
    const at = new Date(1_709_296_496_000 + i * 20_000).toISOString().slice(0, 19)
    const metadata = i % 50 === 0 ? `"{""level"":${i % 99},""from"":""a,b""}"` : ''
    text += `${id},${SKUS[Number(digits(2))]},${at}Z,user_${digits(6)},1,499,USD,purchased,${metadata}\n`
    if (text.length > 1_000_000) {
      writeSync(file, text)
      text = ''
    }
  }
  writeSync(file, text)
  closeSync(file)
}

/** Writes the sales report of the demo's shop, which Google Play would give, with other apps' rows. */
export function writeSales(path, purchases) {
  writeChunks(path, googlePlayReport({ now: NOW, purchases }))
}

/** Writes the canonical file of the web store of the demo's shop. */
export function writeWebSales(path, purchases) {
  writeChunks(path, webStoreFile({ now: NOW, purchases }))
}

const NOW = Date.parse('2026-11-18T16:00:00Z')

function writeChunks(path, chunks) {
  const file = openSync(path, 'w')
  for (const chunk of chunks) writeSync(file, chunk)
  closeSync(file)
}

/** Random digits from a fixed seed. */
function createDigits() {
  let state = 42
  return (count) => {
    let text = ''
    while (text.length < count) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      text += (state >>> 8) % 10
    }
    return text
  }
}
