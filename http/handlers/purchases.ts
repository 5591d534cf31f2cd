import {
  assertSpelling,
  type ErrorDetail,
  type ImportRequest,
  type KeyedAccount,
  type LayoutFile,
  type Session,
  TillError,
} from '../../lib/index.ts'
import { fieldsOf, type SchemaName } from '../openapi/schemas.ts'
import { assertIdsOfPath, invalidOption } from '../problems.ts'
import type { Call } from '../route.ts'
import type { Upload } from '../upload.ts'
import { createUnknownSkus, MAX_MISTAKES } from './unknown-skus.ts'

/** `POST /purchases/import` */
export async function importPurchases(call: Call<Session, Upload>) {
  const store_id = call.body.fields.get('store_id')
  const result = await importForm(call, 'ImportForm', store_id, () => ({}))
  const { import_id, rows, skipped, updated, repeated, passed_over } = result
  const headers = {
    ...(import_id && { 'import-id': import_id }),
    'import-rows': String(rows),
    'import-skipped': String(skipped),
    'import-updated': String(updated),
    'import-repeated': String(repeated),
    'import-passed-over': String(passed_over),
  }
  return { body: { ok: true }, headers }
}

/**
 * `POST /stores/{store_id}/imports`: like `POST /purchases/import`, but the answer has all counts,
 * the totals, the ignored columns and the reasons of the rows that were passed over. An error has
 * each unknown SKU once, with its sales.
 */
export async function createImport(call: Call<KeyedAccount, Upload>) {
  const { store_id } = call.params
  const unknown = createUnknownSkus()
  const read = (fields: Upload['fields']) => {
    return { ...managedReading(fields), onMistake: unknown.add }
  }
  try {
    const result = await importForm(call, 'ManagedImportForm', store_id, read)
    const { import_id, ...counts } = result
    return { body: { ...(import_id && { import_id }), ...counts } }
  } catch (error) {
    throw unknown.group(error)
  }
}

/** `POST /stores/{store_id}/explanations`: proposes a layout for the file of a form. */
export async function explainFile({ till, caller, body, params }: Call<KeyedAccount, Upload>) {
  try {
    const { file, fields } = body
    assertIdsOfPath(params, Object.fromEntries(fields))
    if (!file) throw missingParts({ file })
    return { body: await till.purchases.explain(caller, { store_id: params.store_id, file }) }
  } finally {
    await body.discard()
  }
}

/** `POST /stores/{store_id}/reconciliations` */
export async function reconcilePurchases(call: Call<KeyedAccount, Upload>) {
  const { till, caller, params, options, signal } = call
  const body = await withFile(call, 'ReconcileForm', params.store_id, (file, fields) => {
    const request = {
      ...file,
      ...managedReading(fields),
      signal,
      from: fields.get('from'),
      to: fields.get('to'),
      cancel_missing: parseNumber(fields, 'cancel_missing'),
    }
    return till.purchases.reconcile(caller, request, options)
  })
  return { body }
}

/** How to read a file, by the parts that only the forms of the management API have. */
function managedReading(fields: Upload['fields']) {
  return { priceUnit: parseUnit(fields), map: parseJson(fields, 'map'), maxMistakes: MAX_MISTAKES }
}

type More = Pick<ImportRequest, 'map' | 'priceUnit' | 'maxMistakes' | 'onMistake'>

/**
 * Imports the file of a form. `readMore` returns what only this form has. The library validates the
 * values.
 */
function importForm(
  call: Call<Session | KeyedAccount, Upload>,
  form: SchemaName,
  store_id: string | undefined,
  readMore: (fields: Upload['fields']) => More,
) {
  const { till, caller, context, options, signal } = call
  return withFile(call, form, store_id, async (file, fields) => {
    const dryRun = parseFlag(fields, 'dry_run')
    const undelivered = parseFlag(fields, 'undelivered')
    const refundsOnly = parseFlag(fields, 'refunds_only')
    const request = {
      ...file,
      dryRun,
      undelivered,
      refundsOnly,
      // An import that has begun goes on without its client. Behind a proxy that gives up early, it
      // would never end, and the client that sends the file again finds its rows.
      ...(dryRun && { signal }),
      ...readMore(fields),
    }
    const result = await till.purchases.import(caller, request, options)
    if (!dryRun) context.metrics?.observeImport(result)
    return result
  })
}

/** Calls `work` with the file of a form and how to read it. Then deletes the temporary file. */
async function withFile<T>(
  { body, params, signal }: Call<Session | KeyedAccount, Upload>,
  form: SchemaName,
  store_id: string | undefined,
  work: (file: UploadedFile, fields: Upload['fields']) => Promise<T>,
): Promise<T> {
  try {
    const { file, fileName, fields } = body
    // A misspelt `dryrun=true` would store purchases if it were ignored.
    assertSpelling(fields.keys(), Object.keys(fieldsOf(form)))
    assertIdsOfPath(params, Object.fromEntries(fields))
    if (!file || store_id === undefined) throw missingParts({ file, store_id })
    const layout = parseJson(fields, 'layout') as LayoutFile | undefined
    const reading = { preset: fields.get('preset'), layout, skus: fields.get('skus') }
    return await work({ store_id, file: unlessGone(file, signal), fileName, ...reading }, fields)
  } finally {
    await body.discard()
  }
}

/** Throws if the client has gone while its call waited for another import into the store. */
async function* unlessGone(file: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined) {
  signal?.throwIfAborted()
  yield* file
}

type UploadedFile = Pick<
  ImportRequest,
  'store_id' | 'file' | 'fileName' | 'preset' | 'layout' | 'skus'
>

/** `GET /purchases/owned` */
export async function listOwned({ till, caller, query }: Call<Session, undefined>) {
  const { limit, cursor } = query
  const store_id = query.store_id as string // validated by the library
  const { user_id } = caller
  const page = await till.purchases.owned(caller, { store_id, user_id, limit, cursor })
  return { body: page, headers: { 'cache-control': 'no-store' } }
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

function parseNumber(fields: Upload['fields'], field: string): number | undefined {
  const text = fields.get(field)
  if (text === undefined) return undefined
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw invalidOption(field, 'must be a whole number')
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
