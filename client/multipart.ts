import { TillError } from './errors.ts'
import type { Form } from './form.ts'
import type { Transport } from './message.ts'
import { randomHex } from './random.ts'
import { sendByFetch } from './transport.ts'
import type { Chunks } from './types.ts'

/** The maximum number of bytes sent at once. Node reads a Blob in memory as one chunk. */
const CHUNK = 64 * 1024

/** Streams a form with `fetch`. `total` is the size of the file, if known. */
export function streamForm(form: Form<() => Chunks>, total: number | undefined): Transport {
  return async (url, message, signal) => {
    const boundary = `tillkit-${randomHex()}`
    const type = `multipart/form-data; boundary=${boundary}`
    let failure: unknown
    const body = async function* () {
      try {
        yield* encode(form, boundary, total)
      } catch (cause) {
        failure = new TillError('unreadable_file', 'The file cannot be read', { cause })
        throw failure
      }
    }
    const headers = { ...message.headers, 'content-type': type }
    const { stream, stop } = streamOf(body())
    try {
      return await sendByFetch(url, { ...message, headers }, signal, stream)
    } catch (error) {
      throw failure ?? error
    } finally {
      stop()
    }
  }
}

/** Encodes a form (RFC 7578). */
async function* encode(
  { fields, file, fileName, onProgress }: Form<() => Chunks>,
  boundary: string,
  total: number | undefined,
): AsyncGenerator<Uint8Array> {
  const bytesOf = (text: string) => new TextEncoder().encode(text)
  const head = (name: string) => `--${boundary}\r\nContent-Disposition: form-data; name="${name}"`
  for (const [name, value] of Object.entries(fields)) {
    yield bytesOf(`${head(name)}\r\n\r\n${value}\r\n`)
  }
  const type = 'Content-Type: text/csv\r\n\r\n'
  yield bytesOf(`${head('file')}; filename="${escapeName(fileName)}"\r\n${type}`)
  let bytes = 0
  for await (const chunk of file()) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('The stream must yield Uint8Arrays')
    for (let start = 0; start < chunk.length; start += CHUNK) {
      const part = chunk.subarray(start, start + CHUNK)
      yield part
      bytes += part.length
      onProgress?.({ bytes, total })
    }
  }
  yield bytesOf(`\r\n--${boundary}--\r\n`)
}

/** Escapes a name as browsers do. */
function escapeName(name: string): string {
  return name.replace(/[\r\n"]/g, encodeURIComponent)
}

/**
 * Creates a stream. `stop` closes the source, because Node goes on reading it after an abort or an
 * early answer.
 */
function streamOf(chunks: AsyncGenerator<Uint8Array>) {
  let isStopped = false
  const stream = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await chunks.next()
      if (isStopped) controller.error()
      else if (done) controller.close()
      else controller.enqueue(value)
    },
  })
  const stop = () => {
    isStopped = true
    chunks.return(undefined).catch(() => {})
  }
  return { stream, stop }
}
