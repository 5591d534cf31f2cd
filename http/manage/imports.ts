import type { KeyedAccount } from '../../lib/index.ts'
import type { Call } from '../call.ts'
import { assertSpelling, missingParts, parseFlag } from '../handlers/purchases.ts'
import type { Upload } from '../upload.ts'
import { invalidOption } from './options.ts'
import { decodedParams } from './row.ts'

const MAX_MISTAKES = 1_000

/**
 * `POST /stores/{store_id}/imports`: like `POST /purchases/import`, but the answer has all counts,
 * the totals and the ignored columns.
 */
export async function createImport(call: Call<KeyedAccount, Upload>) {
  const { till, caller, body, params, options, context } = call
  try {
    const { file, fileName, fields } = body
    assertSpelling(fields, 'ManagedImportForm')
    const { store_id = '' } = decodedParams(params)
    if (!file) throw missingParts({ file })
    const dryRun = parseFlag(fields, 'dry_run')
    const preset = fields.get('preset')
    const layout = { preset, priceUnit: parseUnit(fields), map: parseMap(fields) }
    const request = { store_id, file, fileName, dryRun, ...layout, maxMistakes: MAX_MISTAKES }
    const { import_id, ...result } = await till.purchases.import(caller, request, options)
    if (!dryRun) context.metrics?.observeImport(result)
    return { body: { ...(!dryRun && { import_id }), ...result } }
  } finally {
    await body.discard()
  }
}

function parseUnit(fields: Upload['fields']): 'minor' | 'major' | undefined {
  const unit = fields.get('price_unit')
  if (unit === undefined || unit === 'minor' || unit === 'major') return unit
  throw invalidOption('price_unit', 'must be minor or major')
}

/** Parses the form part `map`: a column name for each field. The library validates the names. */
function parseMap(fields: Upload['fields']): object | undefined {
  const text = fields.get('map')
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw invalidOption('map', 'must be a JSON object')
  }
}
