import type { ImportRequest, KeyedAccount } from '../../lib/index.ts'
import { importForm, parseJson } from '../handlers/purchases.ts'
import type { Call } from '../route.ts'
import type { Upload } from '../upload.ts'
import { decodedParams, invalidOption } from './options.ts'

const MAX_MISTAKES = 1_000

/**
 * `POST /stores/{store_id}/imports`: like `POST /purchases/import`, but the answer has all counts,
 * the totals, the ignored columns and the reasons of the rows that were passed over.
 */
export async function createImport(call: Call<KeyedAccount, Upload>) {
  const { dryRun, result } = await importForm(call, 'ManagedImportForm', (fields) => ({
    store_id: decodedParams(call.params).store_id,
    priceUnit: parseUnit(fields),
    map: parseJson(fields, 'map'),
    maxMistakes: MAX_MISTAKES,
  }))
  const { import_id, ...counts } = result
  return { body: { ...(!dryRun && { import_id }), ...counts } }
}

function parseUnit(fields: Upload['fields']): ImportRequest['priceUnit'] {
  const unit = fields.get('price_unit')
  if (unit === undefined || unit === 'minor' || unit === 'major') return unit
  throw invalidOption('price_unit', 'must be minor or major')
}
