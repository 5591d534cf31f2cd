import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createOpenApi } from '../../http/index.ts'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

test('openapi prints the document, or writes it with the URL of a server', async (t) => {
  const out = join(temporaryFolder(t), 'openapi.json')
  const url = 'https://shop.example'

  const printed = await tillkit(['openapi'])
  const written = await tillkit(['openapi', '--url', url, '--out', out])

  assert.deepEqual([printed.code, written.code, written.stdout], [0, 0, ''])
  assert.deepEqual(JSON.parse(printed.stdout), JSON.parse(JSON.stringify(createOpenApi())))
  assert.deepEqual(JSON.parse(readFileSync(out, 'utf8')).servers, [{ url }])
})
