import { type ErrorDetail, type Session, TillError } from '../../lib/index.ts'
import type { Call } from '../routes.ts'
import type { Upload } from '../upload.ts'

/** Endpoint 7. */
export async function importPurchases({ till, who, body }: Call<Session, Upload>) {
  try {
    const { file, fields } = body
    const store_id = fields.get('store_id')
    if (!file || store_id === undefined) throw missingParts({ file, store_id })
    await till.purchases.import(who, { store_id, file, dry_run: isDryRun(fields) })
    return { body: { ok: true } }
  } finally {
    await body.discard()
  }
}

// To take `dry_run=yes` for false would import for good what was only to be checked.
function isDryRun(fields: Upload['fields']): boolean {
  const sent = fields.get('dry_run') ?? 'false'
  if (sent === 'true' || sent === 'false') return sent === 'true'
  const details = [{ field: 'dry_run', code: 'invalid', message: 'must be true or false' }]
  throw new TillError('invalid_request', 'The part dry_run must be true or false', details)
}

function missingParts(parts: { file: unknown; store_id: unknown }): TillError {
  const missing = Object.entries(parts).filter(([, value]) => value === undefined)
  const details = missing.map(
    ([field]): ErrorDetail => ({ field, code: 'required', message: 'is required' }),
  )
  const names = missing.map(([field]) => field).join(' and ')
  return new TillError('invalid_request', `The form has no part ${names}`, details)
}
