import type { Till } from '../../lib/index.ts'
import { character, fc } from '../support/seeds.ts'
import { importForm, type Parts } from '../support/server.ts'
import { createShop, fileOf } from '../support/till.ts'
import { mistakesOf, type Operation, resolve, type Schema } from './document.ts'

type Shop = Awaited<ReturnType<typeof createManagedShop>>

/** A shop with a record for each path parameter: an import, a second key, a webhook and a message. */
export async function createManagedShop(till: Till, name?: string) {
  const shop = await createShop(till, name)
  const { account, project, token } = shop
  const { key_id } = await till.accounts.addKey(account)
  const file = fileOf('transaction_id,sku,purchased_at\nT-0,gold,2026-01-31T12:00:00Z\n')
  const { import_id } = await till.purchases.import(account, { store_id: 'main', file })
  const setUrl = { id: project.id, config: { webhook_url: 'https://shop.example/old' } }
  await till.projects.update(account, setUrl)
  await till.webhooks.test(account, project.id)
  await till.outbox.claim({ holder: 'sender' })
  const { deliveries } = await till.webhooks.log(account, { endpoint_id: project.id })
  const webhook_id = deliveries[0]?.webhook_id ?? ''
  const session = await till.sessions.authenticate(token, 'projects:write')
  const proposal = { id: project.id, config: { webhook_url: 'https://shop.example/hook' } }
  await till.projects.update(session, proposal)
  return { ...shop, key_id, import_id, webhook_id }
}

/** A request for `send`, and whether its JSON body is valid by the document. */
export interface DocumentedRequest {
  /** Method and target. */
  readonly line: string
  readonly parts: Parts
  /** Undefined without a JSON body. */
  readonly isValid: boolean | undefined
  readonly isAuthorized: boolean
}

/** Makes the requests of one operation from its parameters, its credential and its body. */
export function requestOf(operation: Operation, shop: Shop): fc.Arbitrary<DocumentedRequest> {
  const { method, parameters, body } = operation
  const known = knownValues(shop)
  /** Most values are known ones, if there are any. */
  const choose: Choose = (name, any) =>
    known[name] === undefined
      ? any
      : fc.oneof({ weight: 6, arbitrary: fc.constant(known[name]) }, { weight: 1, arbitrary: any })
  const of = (place: string) => {
    const wanted = parameters.filter((parameter) => parameter.in === place)
    return fc.record(
      Object.fromEntries(wanted.map((each) => [each.name, parameterOf(each, choose)])),
      { requiredKeys: place === 'path' ? wanted.map(({ name }) => name) : [] },
    )
  }
  const isJson = body?.type === 'application/json'
  return fc
    .record({
      path: of('path'),
      query: of('query'),
      headers: of('header'),
      isAuthorized: fc.boolean().chain((first) => (first ? fc.constant(true) : fc.boolean())),
      body: body ? bodyOf(body.schema, choose) : fc.constant(undefined),
    })
    .map((made) => {
      const { path, query, headers, isAuthorized } = made
      const target = operation.path.replaceAll(/\{(\w+)\}/g, (_, name) =>
        encodeURIComponent(path[name] ?? ''),
      )
      const search = String(new URLSearchParams(query))
      return {
        line: `${method} ${target}${search && `?${search}`}`,
        parts: {
          ...(isAuthorized ? credentialOf(operation, shop) : {}),
          headers,
          ...(isJson ? { json: made.body } : {}),
          ...(body && !isJson ? { body: formOf(made.body as object) } : {}),
        },
        isAuthorized,
        isValid: isJson ? mistakesOf(body.schema, made.body) === undefined : undefined,
      }
    })
}

/** The example of an operation, with these ids in its path, query and body. */
export function exampleOf(operation: Operation, shop: Shop, ids = knownValues(shop)) {
  const { id, method, path, parameters, body } = operation
  const needed = parameters.filter((each) => each.in === 'query' && each.required)
  const query = new URLSearchParams(
    Object.fromEntries(needed.map(({ name }) => [name, String(ids[name])])),
  )
  const target = path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(String(ids[name])))
  const line = `${method} ${target}${query.size > 0 ? `?${query}` : ''}`
  const credential = credentialOf(operation, shop)
  if (!body) return { line, parts: credential }
  if (body.type !== 'application/json') {
    return { line, parts: { ...credential, body: formOf({ ...knownValues(shop), ...ids }) } }
  }
  const others: { [id: string]: object } = {
    createStore: { store_id: 'new' },
    addStore: { store_id: 'newer' },
    addItem: { name: 'axe' },
  }
  const values: { [field: string]: unknown } = { ...ids, ...others[id] }
  const json = Object.entries(body.example as object).map(([field, value]) => {
    return [field, values[field] ?? value]
  })
  return { line, parts: { ...credential, json: Object.fromEntries(json) } }
}

/** The right credential of an operation. */
function credentialOf({ scheme }: Operation, { account, project, token }: Shop): Parts {
  if (scheme === 'publicKey') return { public_key: project.public_key }
  if (scheme === 'accountKey') return { account_key: account.account_key }
  return scheme === 'token' ? { token } : {}
}

/** A form with the fields of a body, whose `file` is text. */
function formOf({ file, ...fields }: { readonly file?: string }): FormData {
  const texts = Object.entries(fields).map(([name, value]) => [name, String(value)])
  return importForm(file ?? '', { store_id: '', ...Object.fromEntries(texts) })
}

/** Values that exist in the shop, by the names of fields and parameters. */
export function knownValues({ account, project, item, key_id, import_id, webhook_id }: Shop): {
  readonly [name: string]: string
} {
  return {
    ...{ account_id: account.account_id, webhook_id },
    project_id: project.id,
    id: project.id,
    store_id: 'main',
    item_id: item.id,
    ...{ key_id, import_id, endpoint_id: project.id, user_id: 'player-1', sku: item.name },
    public_key: project.public_key,
    cursor: item.id,
    file: 'transaction_id,sku,purchased_at\nT-1,gold,2026-01-31T12:00:00Z\n',
    'If-None-Match': '*',
  }
}

function parameterOf(
  { name, schema, in: place }: Operation['parameters'][number],
  choose: Choose,
): fc.Arbitrary<string> {
  const written = valuesOf(schema, choose, name).map(String)
  if (name === 'X-Request-Id') return fc.stringMatching(/^[\w-]{1,64}$/)
  // Header values are printable ASCII, and a path has no empty part and no dot segments.
  return place !== 'query'
    ? written.filter((text) => /^[!-~]+$/.test(text) && !/^\.+$/.test(text))
    : written
}

const anything = fc.oneof(
  fc.constantFrom(null, true, -1, 0.5, '', '\0', 'a\0b', 'x'.repeat(9_000), '-', '1e3'),
  fc.constantFrom<unknown>([], {}, [1], { a: [] }),
  fc.string({ unit: character }),
)

/** Most bodies are valid. In each of the others, one field has a random value or is missing. */
function bodyOf(schema: Schema, choose: Choose): fc.Arbitrary<unknown> {
  const valid = valuesOf(schema, choose)
  const spoilt = valid.chain((body) => {
    const fields = Object.keys(body as object)
    if (fields.length === 0) return fc.constant(body)
    return fc.record({ field: fc.constantFrom(...fields), value: anything }).map((change) => ({
      ...(body as object),
      [change.field]: change.value,
    }))
  })
  return fc.oneof({ weight: 3, arbitrary: valid }, { weight: 1, arbitrary: spoilt })
}

/** Chooses between the values of a field's schema and others with its name. */
type Choose = (name: string, any: fc.Arbitrary<unknown>) => fc.Arbitrary<unknown>

/** Values that are valid by a schema of the document. */
function valuesOf(reference: Schema, choose: Choose, name = ''): fc.Arbitrary<unknown> {
  const schema = resolve<Schema>(reference as { $ref: string })
  return choose(name, plainValuesOf(schema, choose, name))
}

function plainValuesOf(schema: Schema, choose: Choose, name: string): fc.Arbitrary<unknown> {
  const { type, oneOf } = schema
  if ('const' in schema) return fc.constant(schema.const)
  if (schema.enum) return fc.constantFrom(...(schema.enum as unknown[]))
  if (oneOf) return fc.oneof(...(oneOf as Schema[]).map((each) => valuesOf(each, choose, name)))
  if (Array.isArray(type)) {
    return fc.oneof(...type.map((each) => plainValuesOf({ ...schema, type: each }, choose, name)))
  }
  switch (type) {
    case 'null':
      return fc.constant(null)
    case 'boolean':
      return fc.boolean()
    case 'integer':
      return fc.integer({ min: schema.minimum as number, max: schema.maximum as number })
    case 'array':
      return fc.array(valuesOf(schema.items as Schema, choose), { maxLength: 3 })
    case 'object':
      return objectOf(schema, choose)
    default:
      return textOf(schema, name)
  }
}

function objectOf(
  { properties = {}, required = [] }: Schema,
  choose: Choose,
): fc.Arbitrary<unknown> {
  const fields = Object.entries(properties).map(([name, each]) => [
    name,
    valuesOf(each, choose, name),
  ])
  return fc
    .record({
      known: fc.record(Object.fromEntries(fields), { requiredKeys: required as never[] }),
      more: fc.dictionary(fc.stringMatching(/^x_[a-z]{1,5}$/), freeForm, { maxKeys: 2 }),
    })
    .map(({ known, more }) => ({ ...more, ...known }))
}

const freeForm = fc.oneof(
  fc.constantFrom<unknown>(null, true, [], {}, { a: [1.5, 'é'] }),
  fc.string({ unit: character }).filter((text) => !text.includes('\0')),
)

function textOf(schema: Schema, name: string): fc.Arbitrary<string> {
  const { format, pattern, minLength = 0, maxLength = 255 } = schema
  if (format === 'uri') return fc.webUrl()
  const length = { minLength: minLength as number, maxLength: maxLength as number }
  const isAnyText = String(pattern).startsWith('^[^\\u0000')
  if (pattern === undefined || isAnyText) {
    const regexp = new RegExp(String(pattern ?? ''), 'u')
    const free = fc.string({ unit: character, ...length }).filter((text) => regexp.test(text))
    const longest = fc.constant('\u{1F600}'.repeat(length.maxLength))
    return fc.oneof({ weight: 9, arbitrary: free }, { weight: 1, arbitrary: longest })
  }
  const matching = fc.stringMatching(new RegExp(String(pattern)))
  // A schema cannot express the largest price.
  const isTooLarge = (text: string) => name === 'price' && Number(text) > Number.MAX_SAFE_INTEGER
  return matching.filter((text) => text.length <= length.maxLength && !isTooLarge(text))
}
