import type { Call, Send } from '../../cli/conformance/client.ts'
import { CREDENTIALS, endpointOf } from '../../cli/conformance/endpoints.ts'
import { conformanceRows } from '../../cli/conformance/table.ts'
import { createWorld, type Keys } from '../../cli/conformance/world.ts'
import { operations } from '../openapi/document.ts'
import { fc } from '../support/seeds.ts'
import { exchange } from './exchange.ts'
import { applied, edit } from './files.ts'
import type { FuzzRequest } from './requests.ts'

/** Sends the requests of the conformance rows, and returns them with random edits of their bytes. */
export async function createEditedRows(
  url: string,
  keys: Keys,
): Promise<fc.Arbitrary<FuzzRequest>> {
  const send: Send = async (endpoint, call) => {
    const request = requestOf(endpoint, call)
    const { status, headers, body } = await exchange(url, request)
    const text = body.toString()
    return {
      ...{ endpoint, status, headers: new Headers([...headers]), text, request: '' },
      body: JSON.parse(text),
    }
  }
  const world = createWorld(send, keys)
  const requests: FuzzRequest[] = []
  for (const row of conformanceRows()) {
    const { credential } = endpointOf(row.endpoint)
    if (row.endpoint === 7) continue // forms.ts makes the forms
    const right = { publicKey: keys.public_key, accountKey: keys.account_key }
    const value = credential === 'token' ? await world.token() : right[credential]
    requests.push(
      requestOf(row.endpoint, { credential: { value, shown: '' }, ...(await row.call(world)) }),
    )
  }
  return fc
    .record({ request: fc.constantFrom(...requests), edits: fc.array(edit, { maxLength: 2 }) })
    .map(({ request, edits }) => ({ ...request, body: edits.reduce(applied, request.body) }))
}

function requestOf(endpoint: number, call: Call): FuzzRequest {
  const { method, path, credential, bodyType } = endpointOf(endpoint)
  const { header, prefix } = CREDENTIALS[credential]
  const { json, text = json === undefined ? '' : JSON.stringify(json) } = call
  return {
    endpoint: operations.find((each) => each.method === method && each.path === path)?.id ?? '',
    method,
    target: path.replace('{item_id}', call.item_id ?? '') + (call.query ?? ''),
    headers: [
      ...(bodyType ? ([['Content-Type', 'application/json']] as const) : []),
      ...(call.credential ? ([[header, prefix + call.credential.value]] as const) : []),
    ],
    body: Buffer.from(text).toString('latin1'),
    isChunked: false,
    allowed: [200, 400, 401, 404, 413],
  }
}
