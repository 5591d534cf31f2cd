import assert from 'node:assert/strict'
import type { Reply } from '../server.ts'
import { type document, mistakesOf, type Operation, type Response, resolve } from './document.ts'

/** Headers of HTTP itself, and headers with the same meaning in every answer. */
const EVERYWHERE = [
  ...['cache-control', 'connection', 'content-length', 'content-type', 'date', 'keep-alive'],
  ...['transfer-encoding', 'x-content-type-options'],
]

/** Asserts that the document has this answer of the operation, with its headers and its body. */
export function assertDocumented(
  { id, responses }: Pick<Operation, 'id' | 'responses'>,
  reply: Reply,
): void {
  const place = `${id} ${reply.status}`
  const response = responses.get(String(reply.status))
  assert.ok(response, `${place} is not documented: ${reply.text}`)
  assertHeaders(response, reply, place)
  const [type, media] = Object.entries(response.content ?? {})[0] ?? []
  if (!media) {
    assert.equal(reply.text, '', place)
    assert.equal(reply.headers.get('content-type'), null, place) // a 304 describes no body
    return
  }
  assert.equal(reply.headers.get('content-type'), type, place)
  const value = type?.endsWith('json') ? reply.json<unknown>() : reply.text
  assert.equal(mistakesOf(media.schema, value), undefined, `${place}: ${reply.text}`)
}

function assertHeaders({ headers }: Response, reply: Reply, place: string): void {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  const undocumented = [...reply.headers.keys()].filter(
    (name) => !names.includes(name) && !EVERYWHERE.includes(name),
  )
  assert.deepEqual(undocumented, [], place)
  for (const [name, reference] of Object.entries(headers)) {
    const { required = false, schema } =
      resolve<(typeof document.components.headers)[string]>(reference)
    const value = reply.headers.get(name)
    assert.ok(value !== null || !required, `${place} has no ${name}`)
    if (value === null) continue
    assert.equal(mistakesOf(schema, value), undefined, `${place} ${name}: ${value}`)
  }
}
