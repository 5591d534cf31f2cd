import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { tillkit, tillkitProcess } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'
import { ask, assertWhole, itemNamed } from '../support/load.ts'
import { createShopFile } from '../support/served.ts'
import { eventually } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'

/** How long the load lasts. Default: until each part of it has worked. */
const SECONDS = Number(process.env.TILLKIT_TEST_SECONDS ?? 0)
const CLIENTS = 16
const ROWS = 500

test('two servers and the CLI share one file under load without errors or stale reads', {
  skip: soakOnly,
}, async (t) => {
  const shop = await createShopFile(t)
  const folder = temporaryFolder(t)
  const servers = [await shop.serve(), await shop.serve()] as const
  const agent = new Agent({ keepAlive: true })
  t.after(() => agent.destroy())
  const figures = { created: 0, read: 0, commands: 0, backups: 0, rows: 0 }
  const created: string[] = []
  let isOver = false

  const read = async (api: string, id: string, name: string) => {
    const headers = { authorization: `Bearer ${shop.token}` }
    const { status, text } = await ask(agent, `${api}/items/${id}`, headers)
    assert.equal(status, 200, text)
    const item = JSON.parse(text)
    assertWhole(item)
    assert.equal(item.name, name)
    figures.read++
  }

  /** Creates items at one server and reads them at both. */
  const client = async (at: 0 | 1, n: number) => {
    for (let i = 0; !isOver; i++) {
      const name = `item_${at}_${n}_${i}`
      const headers = { 'x-account-key': shop.account_key }
      const { status, text } = await ask(
        agent,
        `${servers[at].api}/items`,
        headers,
        itemNamed(name),
      )
      assert.equal(status, 200, text)
      const { id } = JSON.parse(text)
      created.push(id)
      figures.created++
      await read(servers[1 - at]?.api ?? '', id, name)
      await read(servers[at].api, id, name)
    }
  }

  const cli = async (...args: string[]) => {
    figures.commands++
    return shop.json(...args)
  }

  /** Commands of an operator. */
  const operator = async () => {
    for (let i = 0; !isOver; i++) {
      const { meta, ...fields } = itemNamed(`by_hand_${i}`)
      const { id } = await cli('item', 'create', ...shop.ofStore, ...optionsOf(fields, meta))
      created.push(id)
      for (const { api } of servers) await read(api, id, fields.name)

      const file = join(folder, `${i}.csv`)
      writeFileSync(file, csvOf(i))
      const { added } = await cli('purchases', 'import', file, ...shop.ofStore)
      assert.equal(added, ROWS)
      figures.rows += added

      const { entries } = await cli('audit', 'list', '--limit', '1000')
      assert.ok(entries.length > 0)
    }
  }

  const keeper = async () => {
    for (let i = 0; !isOver; i++) {
      const known = created.length
      const copy = join(folder, `${i}.db`)
      await cli('backup', copy)
      figures.backups++
      const { sound } = await json('check', '--db', copy)
      assert.ok(sound)
      const args = ['item', 'list', ...shop.ofStore]
      const items: { id: string }[] = await json(...args, '--db', copy)
      const there = new Set(items.map(({ id }) => id))
      assert.deepEqual(
        created.slice(0, known).filter((each) => !there.has(each)),
        [],
      )
      rmSync(copy)
    }
  }

  const working = [operator(), keeper()]
  for (let n = 0; n < CLIENTS; n++) working.push(client(0, n), client(1, n))
  const all = Promise.all(working)
  const hasWorked = () =>
    created.length > 10 * CLIENTS && figures.rows >= ROWS && figures.backups >= 1
  const enough = SECONDS
    ? setTimeout(SECONDS * 1_000)
    : eventually(() => hasWorked() || undefined, 'a round of each part')
  await Promise.race([all, enough])
  isOver = true
  await all

  const lists = await Promise.all(servers.map(({ items }) => items()))
  for (const items of lists) {
    assert.deepEqual(new Set(items.map(({ id }) => id)), new Set(created))
  }
  const months = await cli('purchases', 'summary', ...shop.ofStore)
  assert.equal(
    months.reduce((sum: number, month: { purchased: number }) => sum + month.purchased, 0),
    figures.rows,
  )
  assert.equal((await tillkit(['check', '--db', shop.db])).stdout, 'The database is sound\n')
  for (const { child, ended, log } of servers) {
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 0, signal: null })
    assert.deepEqual(
      log.filter((line) => line.includes('"level":"error"')),
      [],
    )
  }
  t.diagnostic(JSON.stringify({ ...figures, seconds: SECONDS }))
})

async function json(...args: string[]) {
  const { code, stdout, stderr } = await tillkitProcess([...args, '--json'])
  assert.equal(code, 0, `${args.join(' ')}: ${stdout}${stderr}`)
  return JSON.parse(stdout)
}

function optionsOf(fields: { [name: string]: string }, meta: object): string[] {
  const { store_id: _, ...rest } = fields
  const options = Object.entries(rest).flatMap(([name, value]) => [
    `--${name.replaceAll('_', '-')}`,
    value,
  ])
  return [...options, '--meta', JSON.stringify(meta)]
}

function csvOf(file: number): string {
  const rows = Array.from({ length: ROWS }, (_, i) => `T-${file}-${i},gold,2024-01-15T10:00:00Z\n`)
  return `transaction_id,sku,purchased_at\n${rows.join('')}`
}
