import { createConnection } from 'node:net'
import type { FuzzRequest } from './requests.ts'

/** A complete response. */
export interface Answer {
  readonly status: number
  /** Keys in lower case. No header may occur twice. */
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
}

/** The request line and headers of a request. Above about 16 KiB the server answers 431. */
export function headOf({ method, target, headers, body, isChunked }: FuzzRequest): string {
  const framing = isChunked ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`
  const isBodiless = body === '' && ['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method)
  const lines = headers.map(([name, value]) => `${name}: ${value}`)
  const all = ['Host: fuzz', 'Connection: close', ...(isBodiless ? [] : [framing]), ...lines]
  return `${method} ${target} HTTP/1.1\r\n${all.join('\r\n')}\r\n\r\n`
}

/** Sends a request on its own connection, and reads until the server closes it. */
export async function exchange(url: string, request: FuzzRequest): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const socket = createConnection({ host: hostname, port: Number(port), noDelay: true })
  const received: Buffer[] = []
  socket.on('data', (chunk) => received.push(chunk))
  const over = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  // The server may have answered and closed the connection before it read the whole request.
  let failure: unknown
  socket.on('error', (error) => {
    failure = error
  })
  socket.write(Buffer.from(headOf(request) + bodyOf(request), 'latin1'))
  await over
  const bytes = Buffer.concat(received)
  if (bytes.length === 0) throw new Error(`no answer: ${failure ?? 'the connection was ended'}`)
  return parseAnswer(bytes)
}

function bodyOf({ method, body, isChunked }: FuzzRequest): string {
  if (!isChunked) return body
  if (body === '' && ['GET', 'HEAD', 'OPTIONS', 'DELETE'].includes(method)) return ''
  const middle = Math.floor(body.length / 2)
  const chunks = [body.slice(0, middle), body.slice(middle)].filter((chunk) => chunk !== '')
  return `${chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')}0\r\n\r\n`
}

function parseAnswer(bytes: Buffer): Answer {
  const end = bytes.indexOf('\r\n\r\n')
  const [first = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n')
  const status = /^HTTP\/1\.1 (\d{3}) /.exec(first)?.[1]
  if (end < 0 || status === undefined) throw new Error(`no HTTP/1.1: ${bytes.subarray(0, 200)}`)
  const headers = new Map<string, string>()
  for (const line of lines) {
    const [, name = '', value = ''] = /^([\w-]+): (.*)$/.exec(line) ?? []
    if (name === '') throw new Error(`no header line: ${line}`)
    if (headers.has(name.toLowerCase())) throw new Error(`the answer repeats ${name}`)
    headers.set(name.toLowerCase(), value)
  }
  return { status: Number(status), headers, body: bytes.subarray(end + 4) }
}
