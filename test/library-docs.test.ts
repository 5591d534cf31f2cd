import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from './support/folder.ts'
import { runPage } from './support/pages.ts'

const page = readFileSync('docs/library.md', 'utf8')

test('the examples of docs/library.md run as one program', async (t) => {
  const adapt = (code: string) => code.replace('process.stdout.write(chunk)', 'void chunk')
  await runPage(page, { folder: temporaryFolder(t), adapt })
})

test('docs/library.md is up to date; npm run docs writes it', async () => {
  const { href } = pathToFileURL(join(process.cwd(), 'scripts/library-page.mjs'))
  const { formatLibraryPage } = await import(href)
  assert.equal(page, formatLibraryPage())
})
