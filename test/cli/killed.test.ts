import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { createTill } from '../../lib/index.ts'
import { start, tillkit, tillkitProcess } from '../support/cli.ts'
import { createRandom } from '../support/random.ts'
import { createShopFile } from '../support/served.ts'
import { soakOnly } from '../support/soak.ts'
import { openSqlite } from '../support/sqlite.ts'

/** The number of kills: one in `npm test`. */
const KILLS = soakOnly ? 1 : 25
const ITEMS = soakOnly ? 600 : 2_000

/** A database with large items, whose backup takes long enough to be killed. */
async function createLargeShop(t: TestContext) {
  const shop = await createShopFile(t)
  const till = createTill({ storage: await openSqlite(shop.db) })
  const meta = { text: 'x'.repeat(30_000) }
  const create = (_: unknown, i: number) =>
    till.items.create(shop.account, { ...newItem(`large_${i}`), meta })
  await Promise.all(Array.from({ length: ITEMS }, create))
  await till.close()
  return shop
}

const newItem = (name: string) => {
  return { store_id: 'main', name, display_name: name, price: '1', type: 'consumable' } as const
}

test('a killed backup has no file with its name, and its partial file is a whole database or none', async (t) => {
  const { folder, db, ofProject } = await createLargeShop(t)
  const catalogOf = async (file: string) => {
    const { code, stdout, stderr } = await tillkit([
      'catalog',
      'export',
      ...ofProject,
      '--db',
      file,
    ])
    assert.equal(code, 0, stderr)
    return stdout
  }
  const copy = join(folder, 'copy.db')
  const partial = `${copy}.partial`
  const args = ['backup', copy, '--db', db]
  const before = performance.now()
  assert.equal((await tillkitProcess(args)).code, 0)
  const takes = performance.now() - before
  const random = createRandom()
  let partials = 0
  for (let kills = 0; kills < KILLS; kills++) {
    for (const each of [copy, partial]) rmSync(each, { force: true })
    const child = start(args, {})
    const closed = once(child, 'close')
    while (child.exitCode === null && !existsSync(copy) && !existsSync(partial)) await setTimeout(1)
    await setTimeout(random() * takes * 0.3)
    child.kill('SIGKILL')
    await closed

    if (existsSync(copy)) {
      const { code, stderr } = await tillkit(['check', '--db', copy])
      assert.equal(code, 0, stderr)
      const { stdout } = await tillkit(['account', 'list', '--db', copy])
      assert.match(stdout, /^acc_/m)
    }
    if (!existsSync(partial)) continue
    partials++
    const { code, stdout } = await tillkit(['check', '--db', partial])
    // It is whole when the process was killed between writing the file and renaming it.
    if (code === 0) assert.equal(await catalogOf(partial), await catalogOf(db))
    else assert.deepEqual([code, stdout], [1, ''])
    assert.match((await tillkit(args)).stderr, /copy\.db\.partial is there already: delete it if/)
  }
  t.diagnostic(`${KILLS} kills, ${partials} partial files`)
  rmSync(partial, { force: true })
  rmSync(copy, { force: true })
  assert.equal((await tillkit(args)).code, 0)
  assert.equal((await tillkit(['check', '--db', copy])).stdout, 'The database is sound\n')
  assert.equal(await catalogOf(copy), await catalogOf(db))
  assert.deepEqual(readdirSync(folder).sort(), ['copy.db', 'till.db'])
})
