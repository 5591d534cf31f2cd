// run: early
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { serveProcess, tillkitJson } from './support/cli.ts'
import { blocksOf, builtClone, missing, openShell } from './support/pages.ts'

const page = readFileSync('docs/recipes.md', 'utf8')

/** The commands of a recipe, those of its crontab too, and what they must print. */
const recipes: readonly (readonly [heading: string, said: RegExp])[] = [
  [
    'A weekend sale',
    /price: 499 → 399[\s\S]*Applied\.[\s\S]*2 updated[\s\S]*Applied\.[\s\S]*price: 399 → 499/,
  ],
  ['Regional prices', /^create +eu +gold_100 +100 Gold, 459/m],
  ['Bundles', /sword +1 +delivered\n[\s\S]*^gold_100 +consumable +3 [\s\S]*sword +1 +refunded\n/m],
  ['Subscriptions', /^pass +subscription +1 .*2099-01-01/m],
  [
    'From guest to account',
    /^outcome +added$[\s\S]*^sword +non_consumable +1 [\s\S]*^outcome +added$[\s\S]*^is_grant +true$/m,
  ],
  ['Staging to production', /^create +eu +gold_100 [\s\S]*^Applied\.$/m],
  [
    'Google Play each night',
    /^skus +2$[\s\S]*^Dry run: [\s\S]*^added +1$[\s\S]*^Nothing differs in what was compared\.$/m,
  ],
  ['Backups on another machine', /^The database is sound$/m],
]

for (const program of ['bash', 'zsh', 'dash'] as const) {
  test(`the recipes of docs/recipes.md work, in ${program}`, {
    skip: missing(program),
  }, async (t) => {
    const cwd = builtClone(t)
    const db = join(cwd, 'shop.db')
    const project = ['--name', 'Game', '--bundle-id', 'com.example.game', '--platform', 'web']
    const json = (...args: string[]) => tillkitJson([...args, '--db', db])
    await json('account', 'create', '--name', 'Studio')
    const { id } = await json('project', 'create', ...project)
    writeFileSync(join(cwd, 'shop.env'), `PROJECT=${id}\n`)
    const store = ['--store', 'main', '--type', 'web', '--config', '{"currency":"USD"}']
    await json('store', 'create', '--project', id, ...store)
    for (const item of [
      ['gold_100', '499', 'consumable'],
      ['sword', '999', 'non_consumable'],
    ] as const) {
      const [name, price, type] = item
      const fields = ['--name', name, '--display-name', name, '--price', price, '--type', type]
      await json('item', 'create', '--store', 'main', ...fields)
    }
    mkdirSync(join(cwd, 'backups.example'))

    const paste = openShell(t, program, cwd)
    await paste('scp() { cp "$2" backups.example; }') // stands for the other machine
    await paste(blocksOf(page, 'sh')[0] ?? '')
    for (const [heading, said] of recipes) {
      const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? assert.fail(heading)
      const commands = [...section.matchAll(/^```(?:sh|crontab)\n(.*?)^```/gms)].map(
        ([, text = '']) =>
          text.replace(/^(\S+ ){5}cd \/srv\/shop && /gm, '').replaceAll('prj_1', id),
      )
      const output = await paste(commands.join('\n'))
      assert.match(output, said, heading)
    }
  })
}

test('the test stand of docs/recipes.md starts without a file', async (t) => {
  const line = blocksOf(page, 'sh').at(-1)?.trim() ?? ''
  assert.equal(line, 'npx tillkit serve --db memory: --demo --port 3001')
  const { url } = await serveProcess(t, ['--db', 'memory:', '--demo', '--port', '0'])
  assert.equal((await fetch(`${url}/readyz`)).status, 200)
})
