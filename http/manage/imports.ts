import type { KeyedAccount } from '../../lib/index.ts'
import type { Call } from '../call.ts'
import {
  assertSpelling,
  missingParts,
  parseFlag,
  parseJson,
  parseReading,
} from '../handlers/purchases.ts'
import type { Upload } from '../upload.ts'
import { decodedParams, invalidOption } from './options.ts'

const MAX_MISTAKES = 1_000

/**
 * `POST /stores/{store_id}/imports`: like `POST /purchases/import`, but the answer has all counts,
 * the totals, the ignored columns and the reasons of the rows that were passed over.
 */
export async function createImport(call: Call<KeyedAccount, Upload>) {
  const { till, caller, body, params, options, context } = call
  try {
    const { file, fileName, fields } = body
    assertSpelling(fields, 'ManagedImportForm')
    const { store_id = '' } = decodedParams(params)
    if (!file) throw missingParts({ file })
    const dryRun = parseFlag(fields, 'dry_run')
    const columns = { priceUnit: parseUnit(fields), map: parseJson(fields, 'map') }
    const reading = { ...parseReading(fields), ...columns }
    const request = { store_id, file, fileName, dryRun, ...reading, maxMistakes: MAX_MISTAKES }
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
