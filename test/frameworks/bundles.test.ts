import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { build } from 'esbuild'
import { temporaryFolder } from '../support/folder.ts'

/** Imports enough rows for a checkpoint thread, and sums them. */
const PROGRAM = `
  import { createServer } from 'node:http'
  import { createTill, openSqliteStorage } from 'tillkit'
  import { createFetchHandler, createHandler, createOpenApi } from 'tillkit/http'

  async function main() {
    const till = createTill({ storage: await openSqliteStorage(process.argv[2]) })
    const account = await till.accounts.create({ name: 'Studio' })
    const project = await till.projects.create(account, {
      account_id: account.account_id, name: 'Game', bundle_id: 'com.example.game', platform: 'web',
    })
    await till.stores.create(account, {
      project_id: project.id, store_id: 'main', store_type: 'web', store_config: { currency: 'USD' },
    })
    await till.items.create(account, {
      store_id: 'main', name: 'gold', display_name: 'Gold', price: '1', type: 'consumable',
    })
    let csv = 'transaction_id,sku,purchased_at,price\\n'
    for (let i = 0; i < 8_000; i++) csv += 'T-' + i + ',gold,1709294400,1\\n'
    await till.purchases.import(account, { store_id: 'main', file: [Buffer.from(csv)] })
    const [{ revenue }] = await till.purchases.summarize(account, {})
    const handler = createFetchHandler(till, { metrics: true })
    const { status } = await handler(new Request('http://localhost/metrics'))
    createServer(createHandler(till))
    const { info } = createOpenApi()
    let refusal = ''
    try {
      createHandler(till, { docs: true })
    } catch (error) {
      refusal = String(error)
    }
    console.log(JSON.stringify({ revenue, status, version: info.version, refusal }))
    await till.close()
  }
  main()
`

for (const [format, name] of [
  ['cjs', 'CommonJS'],
  ['esm', 'ESM'],
] as const) {
  test(`a bundle in ${name} needs no optional driver, and imports many rows`, async (t) => {
    const folder = temporaryFolder(t)
    const outfile = join(folder, format === 'cjs' ? 'bundle.cjs' : 'bundle.mjs')

    const { warnings } = await build({
      stdin: { contents: PROGRAM, resolveDir: folder }, // which has no packages
      alias: {
        tillkit: resolve('dist/lib/index.js'),
        'tillkit/http': resolve('dist/http/index.js'),
      },
      bundle: true,
      platform: 'node',
      format,
      outfile,
      nodePaths: [],
      logLevel: 'silent',
      plugins: [
        {
          name: 'no packages',
          setup: ({ onResolve }) => onResolve({ filter: /^(better-sqlite3|postgres)$/ }, fail),
        },
      ],
    })
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'), 'junction')
    const output = execFileSync(process.execPath, [outfile, join(folder, 'till.db')], {
      encoding: 'utf8',
    })

    assert.deepEqual(
      warnings.filter(({ id }) => id !== 'empty-import-meta'),
      [],
    )
    const { refusal, ...result } = JSON.parse(output)
    const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
    assert.deepEqual(result, { revenue: '8000', status: 200, version })
    assert.match(refusal, /^TypeError: the option docs needs files/)
  })
}

function fail({ path }: { readonly path: string }) {
  return { errors: [{ text: `no package ${path}` }] }
}
