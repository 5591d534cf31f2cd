import { hasXhr, sendForm } from './form.ts'
import { streamForm } from './multipart.ts'
import type { Request } from './retry.ts'
import type { Chunks, PurchaseFile } from './types.ts'

/** Creates the request of an import, with further parts of its form. */
export function createUpload(
  path: string,
  { file, fileName, onProgress, ...reading }: Omit<PurchaseFile, 'store_id'>,
  parts: { readonly [name: string]: string },
): Request {
  const fields = { ...parts, ...readingFields(reading) }
  return createForm(path, fields, { file, fileName, onProgress })
}

/** The parts of the form that say how to read the file. Throws a TypeError for an unknown field. */
function readingFields({
  dryRun,
  preset,
  layout,
  skus,
  refundsOnly,
  undelivered,
  ...others
}: Pick<PurchaseFile, 'dryRun' | 'preset' | 'layout' | 'skus' | 'refundsOnly' | 'undelivered'>) {
  const [unknown] = Object.keys(others)
  if (unknown !== undefined) throw new TypeError(`An import has no field ${unknown}`)
  return {
    ...(dryRun && { dry_run: 'true' }),
    ...(preset !== undefined && { preset }),
    ...(layout !== undefined && { layout: JSON.stringify(layout) }),
    ...(skus !== undefined && { skus }),
    ...(refundsOnly && { refunds_only: 'true' }),
    ...(undelivered && { undelivered: 'true' }),
  }
}

/**
 * Creates the request that sends a file with other fields as a form. Browsers send it with
 * XMLHttpRequest, because their `fetch` reports no progress. Other runtimes stream it.
 */
export function createForm(
  path: string,
  fields: { readonly [name: string]: string },
  input: Pick<PurchaseFile, 'file' | 'fileName' | 'onProgress'>,
): Request {
  const { onProgress } = input
  const file = sourceOf(input.file)
  const fileName = input.fileName ?? nameOf(file)
  const request = { method: 'POST', path, headers: {} }
  if (hasXhr()) {
    if (!(file instanceof Blob)) {
      throw new TypeError('In a browser, the file must be a Blob, a Uint8Array or a text')
    }
    const form = { fields, file, fileName, onProgress }
    return { ...request, repeat: 'refused', transport: sendForm(form) }
  }
  const total = file instanceof Blob ? file.size : undefined
  const form = { fields, file: openerOf(file), fileName, onProgress }
  const repeat = isStream(file) ? 'never' : 'refused'
  return { ...request, repeat, transport: streamForm(form, total) }
}

type Source = Blob | Chunks | (() => Chunks)

function sourceOf(file: PurchaseFile['file']): Source {
  if (typeof file === 'string') return new Blob([file])
  if (file instanceof Uint8Array) return new Blob([file as Uint8Array<ArrayBuffer>])
  if (file instanceof Blob || typeof file === 'function' || isStream(file)) return file
  throw new TypeError('The file must be a Blob, a Uint8Array, a text, a stream or a function')
}

function isStream(file: unknown): file is Chunks {
  return typeof file === 'object' && file !== null && Symbol.asyncIterator in file
}

function nameOf(file: Source): string {
  return file instanceof Blob && 'name' in file ? String(file.name) : 'purchases.csv'
}

function openerOf(file: Source): () => Chunks {
  if (file instanceof Blob) return () => file.stream()
  return typeof file === 'function' ? file : () => file
}
