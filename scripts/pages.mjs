// Formats the index of the pages: docs/README.md for people, and llms.txt for language models.
import { readFileSync } from 'node:fs'
import { table } from './markdown.mjs'

/** All pages, and what a reader wants of each. */
const GROUPS = {
  Tutorials: {
    '../README.md': 'try tillkit: run it, embed it, call it',
    'first-shop.md': 'build a shop in ten minutes, embedded or over HTTP',
  },
  'How to': {
    'backend.md': 'run a shop from a back end in any language',
    'recipes.md': 'run a sale, sell bundles or subscriptions, go live, make backups',
    'embedding.md': 'mount the API in Express, Next.js and others',
    'import.md': 'import past purchases',
    'purchases.md': 'record, find, deliver and refund purchases, and reconcile them',
    'catalog.md': 'keep the catalog in a file',
    'webhooks.md': 'receive an HTTP request for each change',
    'console.md': 'see sales and edit items in a browser',
    'sql.md': 'query purchases with SQL, Metabase or Grafana',
    'operations.md': 'install and run a server, or upgrade it',
    'scaling.md': 'run several servers on PostgreSQL',
    'conformance.md': 'check another implementation of the API',
    '../CONTRIBUTING.md': 'change tillkit, or release a version of it',
  },
  Reference: {
    'cli.md': 'use the commands',
    'commands.md': 'look up an option of a command, or an environment variable',
    'client.md': 'call the HTTP API from JavaScript',
    'library.md': 'look up a function or a type of the library',
    'specification.md': 'call the HTTP API from another language',
    'api.md': 'look up a field of the HTTP API',
    'metrics.md': 'look up a metric of the server',
    'errors.md': 'know what to do about an error',
    '../CHANGELOG.md': 'know what a version has changed',
  },
  Explanation: {
    'security.md': 'know what tillkit promises, and which test checks it',
    'benchmarks.md': 'know how fast tillkit is',
  },
}

/** docs/README.md. */
export function formatIndex() {
  const sections = Object.entries(GROUPS).flatMap(([title, pages]) => {
    const rows = Object.entries(pages).map(([page, want]) => [want, `[${nameOf(page)}](${page})`])
    return [`## ${title}`, table(['you want to', 'read'], rows)]
  })
  const text = 'Which page answers your question? `npm run docs` writes this list.'
  return `${['# Documentation', text, ...sections].join('\n\n')}\n`
}

/** llms.txt, in the format of https://llmstxt.org. */
export function formatLlms() {
  const [title, summary] = readPage('../README.md').split(/\n\n/)
  const sections = Object.entries(GROUPS).map(([title, pages]) => {
    const lines = Object.entries(pages).map(
      ([page, want]) => `- [${titleOf(page)}](${pathOf(page)}): ${want}`,
    )
    return `## ${title}\n\n${lines.join('\n')}`
  })
  return `${[title, `> ${summary.replaceAll('\n', ' ')}`, ...sections].join('\n\n')}\n`
}

const nameOf = (page) => page.replace('../', '')
const pathOf = (page) => (page.startsWith('../') ? nameOf(page) : `docs/${page}`)
const readPage = (page) => readFileSync(pathOf(page), 'utf8')
const titleOf = (page) => /^# (.*)/.exec(readPage(page))[1]
