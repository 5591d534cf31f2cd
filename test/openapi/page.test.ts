import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createOpenApi } from '../../http/index.ts'

test('docs/api.md is up to date; npm run docs writes it', async () => {
  const { href } = pathToFileURL(join(process.cwd(), 'scripts/api-page.mjs'))
  const { formatApiPage } = await import(href)
  assert.equal(readFileSync('docs/api.md', 'utf8'), formatApiPage(createOpenApi({ manage: true })))
})

test('the package has the document, as the server returns it', () => {
  const packed = JSON.parse(readFileSync('dist/openapi.json', 'utf8'))
  assert.deepEqual(packed, JSON.parse(JSON.stringify(createOpenApi())))
})
