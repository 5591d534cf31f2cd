import type { Transport } from './message.ts'
import type { PurchaseFile } from './types.ts'

/** The parts of the form, with the file as a Blob or as a function that opens a stream. */
export interface Form<File> {
  readonly fields: { readonly [name: string]: string }
  readonly file: File
  readonly fileName: string
  readonly onProgress: PurchaseFile['onProgress']
}

/** The members of a browser's XMLHttpRequest that the upload uses. */
interface Xhr {
  readonly upload: { onprogress: ((event: { readonly loaded: number }) => void) | null }
  readonly status: number
  readonly responseText: string
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getResponseHeader(name: string): string | null
  send(body: FormData): void
  abort(): void
}

declare const XMLHttpRequest: new () => Xhr

export function hasXhr(): boolean {
  return typeof XMLHttpRequest === 'function'
}

/** Sends a form with XMLHttpRequest. */
export function sendForm({ fields, file, fileName, onProgress }: Form<Blob>): Transport {
  return (url, { method, headers }, signal) =>
    new Promise((resolve, reject) => {
      const form = new FormData()
      for (const [name, value] of Object.entries(fields)) form.append(name, value)
      form.append('file', file, fileName)
      const xhr = new XMLHttpRequest()
      xhr.open(method, url)
      for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
      const total = file.size
      // `loaded` also counts the other parts of the form.
      const report = (loaded: number) => onProgress?.({ bytes: Math.min(loaded, total), total })
      if (onProgress) xhr.upload.onprogress = ({ loaded }) => report(loaded)
      xhr.onload = () => {
        const { status, responseText: text } = xhr
        resolve({ status, text, header: (name) => xhr.getResponseHeader(name) })
      }
      xhr.onerror = () => reject(new Error('The upload failed'))
      xhr.onabort = xhr.onerror
      signal.addEventListener('abort', () => xhr.abort())
      xhr.send(form)
    })
}
