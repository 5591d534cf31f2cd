import { type ErrorDetail, excerpt, type Session, TillError } from '../../lib/index.ts'
import type { Call } from '../routes.ts'
import type { Upload } from '../upload.ts'

/** Endpoint 7. */
export async function importPurchases({
  till,
  who,
  body,
  service,
  options,
}: Call<Session, Upload>) {
  try {
    const { file, fields } = body
    assertSpelt(fields)
    const store_id = fields.get('store_id')
    if (!file || store_id === undefined) throw missingParts({ file, store_id })
    const dryRun = parseFlag(fields, 'dry_run')
    const preset = fields.get('preset')
    const result = await till.purchases.import(who, { store_id, file, dryRun, preset }, options)
    const { import_id, rows, skipped, updated } = result
    if (!dryRun) service.metrics?.observeImport(result)
    const headers = {
      'import-id': import_id,
      'import-rows': String(rows),
      'import-skipped': String(skipped),
      'import-updated': String(updated),
    }
    return { body: { ok: true }, headers }
  } finally {
    await body.discard()
  }
}

const PARTS = ['file', 'store_id', 'dry_run', 'preset']

// Other parts are ignored, but `dryrun=true` that is ignored would import in earnest.
function assertSpelt(fields: ReadonlyMap<string, string>): void {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_ ]/g, '')
  const details = [...fields.keys()].flatMap((field): ErrorDetail[] => {
    const meant = PARTS.find((part) => plain(part) === plain(field))
    if (meant === undefined || meant === field) return []
    return [{ field: excerpt(field), code: 'unknown', message: `must be spelt ${meant}` }]
  })
  const [first] = details
  if (!first) return
  throw new TillError('invalid_request', `The part ${first.field} ${first.message}`, details)
}

function parseFlag(fields: ReadonlyMap<string, string>, field: string): boolean {
  const value = fields.get(field) ?? 'false'
  if (value === 'true' || value === 'false') return value === 'true'
  const details = [{ field, code: 'invalid', message: 'must be true or false' }]
  throw new TillError('invalid_request', `${field} must be true or false`, details)
}

function missingParts(parts: { file: unknown; store_id: unknown }): TillError {
  const missing = Object.entries(parts).filter(([, value]) => value === undefined)
  const details = missing.map(
    ([field]): ErrorDetail => ({ field, code: 'required', message: 'is required' }),
  )
  const names = missing.map(([field]) => `no part ${field}`).join(' and ')
  return new TillError('invalid_request', `The form has ${names}`, details)
}
