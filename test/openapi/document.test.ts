import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve as resolvePath } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { Validator } from '@seriousme/openapi-schema-validator'
import { createOpenApi } from '../../http/index.ts'
import { manageRoutes } from '../../http/manage/routes.ts'
import { metricsRoute, routes } from '../../http/routes.ts'
import { createMemoryStorage } from '../../lib/index.ts'
import {
  document,
  mistakesOf,
  operations,
  resolve,
  type Schema,
} from '../support/openapi/document.ts'
import { startServer } from '../support/server.ts'

test('the document is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone({ ...document }))
  assert.ok(valid, JSON.stringify(errors))
})

test('docs/api.md and the document of the package are up to date; npm run docs writes the page', async () => {
  const { formatApiPage } = await import(pathToFileURL(resolvePath('scripts/api-page.mjs')).href)
  assert.equal(readFileSync('docs/api.md', 'utf8'), formatApiPage(createOpenApi({ manage: true })))
  const packed = JSON.parse(readFileSync('dist/openapi.json', 'utf8'))
  assert.deepEqual(packed, JSON.parse(JSON.stringify(createOpenApi())))
})

test('every route is an operation with its own id', () => {
  const served = [...routes, ...manageRoutes, metricsRoute].map(
    ({ method, path }) => `${method} ${path}`,
  )
  const described = operations.map(
    ({ method, path }) => `${method} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`,
  )
  assert.deepEqual(described.sort(), [...served, 'GET /openapi.json'].sort())
  assert.equal(new Set(operations.map(({ id }) => id)).size, operations.length)
})

test('every reference has a target', () => {
  const references = JSON.stringify(document).matchAll(/"\$ref":"([^"]+)"/g)
  const broken = [...references].filter(([, $ref = '']) => resolve({ $ref }) === undefined)
  assert.deepEqual(broken, [])
})

for (const manage of [false, true]) {
  test(`every component is used, ${manage ? 'with' : 'without'} the management API`, () => {
    const { components, ...rest } = JSON.parse(JSON.stringify(createOpenApi({ manage })))
    const { securitySchemes, ...others } = components
    const text = JSON.stringify([rest, others])
    const schemes = Object.keys(securitySchemes).map((name) => `"security":[{"${name}":`)
    const pointers = Object.entries<object>(others).flatMap(([kind, all]) =>
      Object.keys(all).map((name) => `"#/components/${kind}/${name}"`),
    )
    const used = [...schemes, ...pointers]
    assert.deepEqual(
      used.filter((each) => !text.includes(each)),
      [],
    )
  })
}

test('code generators: an object without properties takes any member, and errors extend Problem', () => {
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { $ref, type, properties, additionalProperties } = node as Schema
    if (typeof $ref === 'string') assert.deepEqual(Object.keys(node), ['$ref'])
    if (type === 'object' && !properties) assert.ok(additionalProperties, JSON.stringify(node))
    for (const each of Object.values(node)) visit(each)
  }
  visit({ ...document, components: { ...document.components, examples: {} } })
})

test('every example is valid by its schema', () => {
  const media = operations.flatMap(({ body, responses }) => [
    ...(body ? [body] : []),
    ...[...responses.values()].flatMap(({ content = {} }) => Object.values(content)),
  ])
  let count = 0
  for (const { schema, example, examples = {} } of media) {
    const named = Object.values(examples).map((each) => resolve<{ value: unknown }>(each).value)
    for (const value of example === undefined ? named : [example]) {
      assert.equal(mistakesOf(schema, value), undefined, JSON.stringify(value))
      count++
    }
  }
  assert.ok(count > 100, String(count))
})

test('GET /openapi.json returns the document, and 304 for its ETag', async (t) => {
  const storage = createMemoryStorage()
  const { send } = await startServer(t, { storage, options: { manage: true } })
  const reply = await send('GET /openapi.json')
  assert.equal(reply.status, 200)
  assert.deepEqual(reply.json(), document)
  const etag = reply.headers.get('etag') ?? ''
  const again = await send('GET /openapi.json', { headers: { 'if-none-match': etag } })
  assert.equal(again.status, 304)
})

test('without the option, the document has no part of the management API', async (t) => {
  const { send } = await startServer(t)
  const { text } = await send('GET /openapi.json')
  assert.doesNotMatch(text, /manage/i)
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(createOpenApi())))
})

test('the document names the URL of a mounted API', () => {
  assert.deepEqual(createOpenApi({ url: '/shop' }).servers, [{ url: '/shop' }])
})
