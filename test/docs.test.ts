import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { groups } from '../cli/commands.ts'
import { VARIABLES } from '../cli/config.ts'
import { COMMON_OPTIONS } from '../cli/options.ts'
import { faults } from '../http/faults.ts'
import { limits } from '../http/limits.ts'
import { METRICS } from '../http/prometheus.ts'

const written = readdirSync('docs').filter((name) => name.endsWith('.md'))
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'test/README.md',
  ...written.map((name) => `docs/${name}`),
]
const texts = new Map(pages.map((page) => [page, readFileSync(page, 'utf8')]))

test('the table of limits names every limit of the server', () => {
  const page = texts.get('docs/operations.md') ?? ''
  const table = page.slice(page.indexOf('## Limits'), page.indexOf('### Shares'))
  // These are described outside the table.
  const elsewhere = ['drainDelay', 'stopIdleTimeout', 'stopTimeout', 'uploadMemory', 'accountShare']
  const missing = Object.keys(limits).filter((name) => !table.includes(`\`${name}\``))
  assert.deepEqual(missing.sort(), elsewhere.sort())
})

/** The anchor that GitHub gives a heading. */
function anchorOf(heading: string): string {
  const text = heading.toLowerCase().replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
  return text.trim().replaceAll(/\s/g, '-')
}

test('the index and llms.txt have every page, and are up to date: npm run docs writes them', async () => {
  const { href } = pathToFileURL(resolve('scripts/pages.mjs'))
  const { formatIndex, formatLlms } = await import(href)
  const index = texts.get('docs/README.md') ?? ''
  assert.equal(index, formatIndex())
  assert.equal(readFileSync('llms.txt', 'utf8'), formatLlms())
  const missing = written.filter((name) => name !== 'README.md' && !index.includes(`](${name})`))
  assert.deepEqual(missing, [])
})

test('docs/commands.md is up to date; npm run docs writes it', async () => {
  const { href } = pathToFileURL(resolve('scripts/commands-page.mjs'))
  const { formatCommandsPage } = await import(href)
  const page = formatCommandsPage(groups, COMMON_OPTIONS, VARIABLES)
  assert.equal(texts.get('docs/commands.md'), page)
})

test('docs/metrics.md is up to date; npm run docs writes it', async () => {
  const { href } = pathToFileURL(resolve('scripts/metrics-page.mjs'))
  const { formatMetricsPage } = await import(href)
  assert.equal(texts.get('docs/metrics.md'), formatMetricsPage(METRICS))
})

test('every link between the pages leads to a file and a heading', () => {
  const broken: string[] = []
  for (const [page, text] of texts) {
    for (const [, link = ''] of text.matchAll(/\]\((?!https?:)([^)\s]*)\)/g)) {
      const [path = '', anchor] = link.split('#')
      const target = path === '' ? page : join(dirname(page), path)
      if (!existsSync(target)) broken.push(`${page}: ${link}`)
      if (anchor === undefined) continue
      const headings = [...(texts.get(target) ?? '').matchAll(/^#+ (.*)$/gm)]
      if (!headings.some(([, heading = '']) => anchorOf(heading) === anchor)) {
        broken.push(`${page}: ${link}`)
      }
    }
  }
  assert.deepEqual(broken, [])
})

test('a page of more than 200 lines begins with links to its sections', () => {
  const missing: string[] = []
  for (const [page, text] of texts) {
    if (!page.startsWith('docs/') || text.split('\n').length <= 200) continue
    const [head = '', ...sections] = text.replaceAll(/```.*?```/gs, '').split(/^## /m)
    for (const section of sections) {
      const anchor = anchorOf(section.slice(0, section.indexOf('\n')))
      if (!head.includes(`](#${anchor})`)) missing.push(`${page}#${anchor}`)
    }
  }
  assert.deepEqual(missing, [])
})

test('the page of error codes names every code of the library and of HTTP', () => {
  const table = /const codes = \{.*?\} as const/s.exec(readFileSync('lib/errors.ts', 'utf8'))?.[0]
  const library = [...(table ?? '').matchAll(/^ {2}(\w+): \{/gm)].map(([, code = '']) => code)
  assert.ok(library.length > 15, String(library.length))
  const page = texts.get('docs/errors.md') ?? ''
  const codes = [...library, ...Object.keys(faults), 'internal_error']
  assert.deepEqual(
    codes.filter((code) => !page.includes(`\`${code}\``)),
    [],
  )
})

test('every file that a page names in code exists', () => {
  const named = [...texts].flatMap(([page, text]) =>
    [...text.matchAll(/`((?:bench|cli|deploy|http|lib|test)\/[\w./-]+)`/g)].map(
      ([, file = '']) => `${page}: ${file}`,
    ),
  )
  assert.ok(named.length > 50, String(named.length))
  const missing = named.filter((each) => !existsSync(each.split(': ')[1] ?? ''))
  assert.deepEqual(missing, [])
})

const generated = ['docs/api.md', 'docs/commands.md', 'docs/library.md', 'docs/metrics.md']
const byHand = [...texts].filter(([page]) => !generated.includes(page))

test('no sentence has more than 32 words', () => {
  const long = byHand.flatMap(([page, text]) => {
    const prose = text.replaceAll(/```.*?```|^Contents:.*?\n\n/gms, '').replaceAll(/`[^`]+`/g, 'x')
    // Paragraphs, headings, entries of lists and cells of tables are no parts of one sentence.
    const sentences = prose.split(/\n\n|^#+ |^ *(?:-|\d+\.) | ?\| ?|[.?!][)*"]*(?:\s|$)/m)
    const counted = sentences.map((each) => each.split(/\s+/).filter((word) => /\w/.test(word)))
    return counted.filter(({ length }) => length > 32).map((words) => `${page}: ${words.join(' ')}`)
  })
  assert.deepEqual(long, [])
})
