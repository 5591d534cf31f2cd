import {
  type ErrorDetail,
  excerpt,
  type ImportRequest,
  type KeyedAccount,
  type LayoutFile,
  type Session,
  TillError,
} from '../../lib/index.ts'
import { fieldsOf, type SchemaName } from '../openapi/schemas.ts'
import { invalidOption } from '../problems.ts'
import type { Call } from '../route.ts'
import type { Upload } from '../upload.ts'

/** `POST /purchases/import` */
export async function importPurchases(call: Call<Session, Upload>) {
  const { result } = await importForm(call, 'ImportForm', (fields) => ({
    store_id: fields.get('store_id'),
  }))
  const { import_id, rows, skipped, updated, repeated, passed_over } = result
  const headers = {
    'import-id': import_id,
    'import-rows': String(rows),
    'import-skipped': String(skipped),
    'import-updated': String(updated),
    'import-repeated': String(repeated),
    'import-passed-over': String(passed_over),
  }
  return { body: { ok: true }, headers }
}

/** The most mistakes of a file that the management API answers. */
const MAX_MISTAKES = 1_000

/**
 * `POST /stores/{store_id}/imports`: like `POST /purchases/import`, but the answer has all counts,
 * the totals, the ignored columns and the reasons of the rows that were passed over.
 */
export async function createImport(call: Call<KeyedAccount, Upload>) {
  const { dryRun, result } = await importForm(call, 'ManagedImportForm', (fields) => ({
    store_id: call.params.store_id,
    priceUnit: parseUnit(fields),
    map: parseJson(fields, 'map'),
    maxMistakes: MAX_MISTAKES,
  }))
  const { import_id, ...counts } = result
  return { body: { ...(!dryRun && { import_id }), ...counts } }
}

/** `POST /stores/{store_id}/explanations`: proposes a layout for the file of a form. */
export async function explainFile({ till, caller, body, params }: Call<KeyedAccount, Upload>) {
  try {
    const { file } = body
    if (!file) throw missingParts({ file })
    return { body: await till.purchases.explain(caller, { store_id: params.store_id, file }) }
  } finally {
    await body.discard()
  }
}

type More = Pick<ImportRequest, 'map' | 'priceUnit' | 'maxMistakes'>

/**
 * Imports the file of a form, and deletes the temporary file. `readMore` returns the store, and what
 * only this form has. The library validates the values.
 */
async function importForm(
  { till, caller, body, context, options }: Call<Session | KeyedAccount, Upload>,
  form: SchemaName,
  readMore: (fields: Upload['fields']) => More & { readonly store_id: string | undefined },
) {
  try {
    const { file, fileName, fields } = body
    assertSpelling(fields, form)
    const { store_id, ...more } = readMore(fields)
    if (!file || store_id === undefined) throw missingParts({ file, store_id })
    const dryRun = parseFlag(fields, 'dry_run')
    const reading = {
      preset: fields.get('preset'),
      layout: parseJson(fields, 'layout') as LayoutFile | undefined,
      skus: fields.get('skus'),
      undelivered: parseFlag(fields, 'undelivered'),
      refundsOnly: parseFlag(fields, 'refunds_only'),
    }
    const request = { store_id, file, fileName, dryRun, ...reading, ...more }
    const result = await till.purchases.import(caller, request, options)
    if (!dryRun) context.metrics?.observeImport(result)
    return { dryRun, result }
  } finally {
    await body.discard()
  }
}

/** `GET /purchases/owned` */
export async function listOwned({ till, caller, query }: Call<Session, undefined>) {
  const { limit, cursor } = query
  const store_id = query.store_id as string // validated by the library
  const { user_id } = caller
  const page = await till.purchases.owned(caller, { store_id, user_id, limit, cursor })
  return { body: page, headers: { 'cache-control': 'no-store' } }
}

// Rejects misspelt field names: if `dryrun=true` were ignored, the import would store purchases.
function assertSpelling(fields: ReadonlyMap<string, string>, form: SchemaName): void {
  const parts = Object.keys(fieldsOf(form))
  const normalize = (name: string) => name.toLowerCase().replaceAll(/[-_ ]/g, '')
  const details = [...fields.keys()].flatMap((field): ErrorDetail[] => {
    const meant = parts.find((part) => normalize(part) === normalize(field))
    if (meant === undefined || meant === field) return []
    return [{ field: excerpt(field), code: 'unknown', message: `must be spelled ${meant}` }]
  })
  const [first] = details
  if (!first) return
  throw new TillError('invalid_request', `The part ${first.field} ${first.message}`, details)
}

function parseFlag(fields: ReadonlyMap<string, string>, field: string): boolean {
  const value = fields.get(field) ?? 'false'
  if (value === 'true' || value === 'false') return value === 'true'
  throw invalidOption(field, 'must be true or false')
}

function parseUnit(fields: Upload['fields']): ImportRequest['priceUnit'] {
  const unit = fields.get('price_unit')
  if (unit === undefined || unit === 'minor' || unit === 'major') return unit
  throw invalidOption('price_unit', 'must be minor or major')
}

/** Parses a part that has a JSON object. The library validates its fields. */
function parseJson(fields: Upload['fields'], field: string): object | undefined {
  const text = fields.get(field)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw invalidOption(field, 'must be a JSON object')
  }
}

function missingParts(parts: { readonly [name: string]: unknown }): TillError {
  const missing = Object.entries(parts).filter(([, value]) => value === undefined)
  const details = missing.map(
    ([field]): ErrorDetail => ({ field, code: 'required', message: 'is required' }),
  )
  const names = missing.map(([field]) => `no part ${field}`).join(' and ')
  return new TillError('invalid_request', `The form has ${names}`, details)
}
