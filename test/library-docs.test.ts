import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from './support/folder.ts'

const page = readFileSync('docs/library.md', 'utf8')

test('the examples of docs/library.md run as one program', async (t) => {
  const folder = temporaryFolder(t)
  const project = process.cwd()
  const urlOf = (path: string) => pathToFileURL(join(project, path)).href
  const blocks = [...page.matchAll(/```js\n(.*?)```/gs)].map(([, code = '']) => code)
  const program = blocks
    .join('\n')
    .replace(/'tillkit'/g, `'${urlOf('dist/lib/index.js')}'`)
    .replace(/'tillkit\/http'/g, `'${urlOf('dist/http/index.js')}'`)
    .replace(/process\.stdout\.write\(chunk\)/, 'void chunk')
    // `expression // → value` states the value of the expression.
    .replace(/^( *)(.+?) \/\/ → (.+)$/gm, '$1assert.deepEqual($2, $3); asserted.count++')
  const file = join(folder, 'library.mjs')
  const start = "import assert from 'node:assert/strict'\nexport const asserted = { count: 0 }\n"
  writeFileSync(file, start + program)
  process.chdir(folder)
  t.after(() => process.chdir(project))

  const { asserted } = await import(pathToFileURL(file).href)

  assert.equal(asserted.count, page.match(/ \/\/ → /g)?.length)
})

test('docs/library.md is up to date; npm run docs writes it', async () => {
  const { href } = pathToFileURL(join(process.cwd(), 'scripts/library-page.mjs'))
  const { formatLibraryPage } = await import(href)
  assert.equal(page, formatLibraryPage())
})
