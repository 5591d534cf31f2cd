import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, fileOf } from '../support/till.ts'

const SALE = { store_id: 'main', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }
const MAIN = { store_id: 'main' }

type Row = readonly [step: string, answer: string, owned: string, undelivered: string, sums: string]

/** The rows of the table in docs/purchases.md. */
function rowsOfPage(): string[][] {
  const page = readFileSync('docs/purchases.md', 'utf8')
  const section = page.slice(page.indexOf('\nThe order `GPA.7`') + 1)
  const [table = ''] = section.slice(section.indexOf('\n| ') + 1).split('\n\n')
  return table
    .trim()
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
}

async function openOrder(order: string) {
  const { till, account, project_id } = await createShop()
  const key = { ...MAIN, transaction_id: order }
  const amounts = { price: 499, currency: 'USD', user_id: 'ann' }
  const record = (id: string) =>
    till.purchases.record(account, { ...SALE, ...amounts, transaction_id: `${order}/${id}` })
  const importFile = async (price: string) => {
    const header = 'transaction_id,sku,purchased_at,price,currency\n'
    const rows = ['gold', 'gem'].map((id) => `${order}/${id},gold,2026-01-31T12:00:00Z,${price}`)
    const file = fileOf(header + rows.join('\n'))
    const { added, skipped, import_id } = await till.purchases.import(account, { ...MAIN, file })
    imported ||= import_id
    return added > 0 ? `${added} added` : `${skipped} skipped`
  }
  const undo = async (import_id: string, force = false) => {
    const outcome = await till.imports.undo(account, { import_id, force }).catch((error) => error)
    const { code, message } = outcome as { code?: string; message?: string }
    return code === undefined ? 'undone' : `${code}: ${message?.slice(0, 6)}`
  }
  const outcomesOf = (found: readonly { readonly outcome: string }[]) =>
    found.map(({ outcome }) => outcome).join(', ')
  let refund = ''
  let imported = ''
  const steps: { readonly [step: string]: () => Promise<string> } = {
    'purchases record': async () => outcomesOf([await record('gold'), await record('gem')]),
    'purchases deliver': async () =>
      outcomesOf((await till.purchases.deliver(account, key)).deliveries),
    'file without users and prices': () => importFile(','),
    'the same file': () => importFile(','),
    'purchases import': () => importFile('499,USD'),
    'purchases refund': async () => {
      const found = outcomesOf((await till.purchases.refund(account, key)).refunds)
      const purchase = { ...MAIN, transaction_id: `${order}/gold` }
      const { changes } = await till.purchases.changes(account, purchase)
      refund ||= changes[0]?.import_id ?? ''
      return found
    },
    'imports undo`, of the refund': () => undo(refund),
    'imports undo`, of the first file': () => undo(imported),
    'imports undo --force`, of the first file': () => undo(imported, true),
    'user erase': async () => {
      const erased = await till.users.erase(account, { project_id, user_id: 'ann' })
      return `${erased.purchases} erased`
    },
  }
  return {
    run: (step: string) => {
      const work = Object.entries(steps).find(([name]) => step.includes(name))?.[1]
      return work?.() ?? assert.fail(step)
    },
    async shown() {
      const { owned } = await till.purchases.owned(account, { ...MAIN, user_id: 'ann' })
      const { purchases } = await till.purchases.list(account, { ...MAIN, undelivered: true })
      const all = await till.purchases.summarize(account, { ...MAIN, by: ['currency'] })
      const sums = all.find(({ currency }) => currency === 'USD')
      return [
        String(owned[0]?.quantity ?? 0),
        String(purchases.length),
        `${sums?.revenue ?? 0} / ${sums?.refunded_total ?? 0}`,
      ]
    },
  }
}

/** A vendor's file without users and prices has the purchases before the server records them. */
const FILE_FIRST: readonly Row[] = [
  ['file without users and prices', '2 added', '0', '0', '0 / 0'],
  ['purchases record', 'updated, updated', '2', '2', '998 / 0'],
  ['purchases deliver', 'delivered, delivered', '2', '0', '998 / 0'],
  ['the same file', '2 skipped', '2', '0', '998 / 0'],
  ['imports undo`, of the first file', 'undo_refused: 4 rows', '2', '0', '998 / 0'],
  ['imports undo --force`, of the first file', 'undone', '0', '0', '0 / 0'],
  ['the same file', '2 added', '0', '0', '0 / 0'],
  ['purchases record', 'updated, updated', '2', '0', '998 / 0'],
]

const orders = [
  { order: 'GPA.7', title: 'as the table in docs/purchases.md says', rows: rowsOfPage() },
  { order: 'GPA.8', title: 'if a file without users has it before the server', rows: FILE_FIRST },
]

for (const { order, title, rows } of orders) {
  test(`an order lives ${title}`, async () => {
    const { run, shown } = await openOrder(order)
    assert.ok(rows.length > 6)
    for (const [step = '', outcome, ...after] of rows) {
      const answer = await run(step)
      assert.deepEqual([step, answer, ...(await shown())], [step, outcome, ...after])
    }
  })
}
