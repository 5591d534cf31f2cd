import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { createClient } from '../../client/index.ts'
import { createManageClient } from '../../client/manage.ts'
import { temporaryFolder } from '../support/folder.ts'
import { listenOn } from '../support/listen.ts'
import { runPage } from '../support/pages.ts'
import { startServer } from '../support/server.ts'

const page = readFileSync('docs/client.md', 'utf8')

test('the examples of docs/client.md run as one program', async (t) => {
  const { till, url } = await startServer(t, {
    options: { manage: true },
  })
  const account = await till.accounts.create({ name: 'Studio' })
  const project = await till.projects.create(account, {
    name: 'Game',
    bundle_id: 'com.example.game',
    platform: 'mobile',
  })
  await till.stores.create(account, { project_id: project.id, store_id: 'main', store_type: 'web' })
  const item = { store_id: 'main', name: 'gold_100', display_name: '100 Gold', price: '499' }
  await till.items.create(account, { ...item, type: 'consumable' })
  const issuer = createServer(async (_, response) => {
    response.end(JSON.stringify(await till.sessions.issue(account, { project_id: project.id })))
  })
  const issuerUrl = await listenOn(t, issuer)
  const constants = {
    SERVER: url,
    PUBLIC_KEY: project.public_key,
    ACCOUNT_KEY: account.account_key,
    YOUR_SERVER: issuerUrl,
  }
  const folder = temporaryFolder(t)
  const adapt = (code: string) =>
    code
      .replaceAll("'purchases.csv'", JSON.stringify(join(folder, 'purchases.csv')))
      .replace('console.log(bytes, total)', 'void [bytes, total]')

  await runPage(page, { folder, adapt, constants })
})

test('docs/client.md names every option and every call', () => {
  const source = readFileSync('client/options.ts', 'utf8')
  const [, declared = ''] = /export interface ClientOptions \{(.*?)^\}/ms.exec(source) ?? []
  const options = [...declared.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => `\`${name}\``)
  assert.ok(options.length > 8)
  const calls = Object.entries(
    createClient({ url: 'http://localhost', publicKey: 'pk_1' }),
  ).flatMap(([noun, methods]) => Object.keys(methods).map((method) => `\`till.${noun}.${method}(`))
  const names = [...options, ...calls]
  assert.deepEqual(
    names.filter((name) => !page.includes(name)),
    [],
  )
})

test('docs/client.md names every call of the management client', () => {
  const calls = createManageClient({ url: 'http://localhost', accountKey: 'ak_1' })
  const missing = Object.entries(calls).flatMap(([noun, methods]) => {
    const [, row = ''] = new RegExp(`^\\| \`${noun}\` \\| (.*) \\|$`, 'm').exec(page) ?? []
    const names = typeof methods === 'function' ? [`${noun}()`] : Object.keys(methods)
    return names.filter((name) => !row.includes(`\`${name}\``)).map((name) => `${noun}.${name}`)
  })
  assert.deepEqual(missing, [])
})
