import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, fileOf } from '../support/till.ts'

const SALE = { store_id: 'main', sku: 'gold', purchased_at: '2026-01-31T12:00:00Z' }
const MAIN = { store_id: 'main' }
const ORDER = { ...MAIN, transaction_id: 'GPA.7' }

/** The rows of the table of docs/purchases.md: the step, `owned`, what waits, and the sums. */
function rowsOfPage(): string[][] {
  const page = readFileSync('docs/purchases.md', 'utf8')
  const section = page.slice(page.indexOf('## The life of an order'))
  const lines = section.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

test('an order lives as the table in docs/purchases.md says', async () => {
  const { till, account, project_id } = await createShop()
  const amounts = { price: 499, currency: 'USD', user_id: 'ann' }
  const record = (id: string) =>
    till.purchases.record(account, { ...SALE, ...amounts, transaction_id: `GPA.7/${id}` })
  const importFile = (...rows: string[]) => {
    const header = 'transaction_id,sku,purchased_at,price,currency\n'
    return till.purchases.import(account, { ...MAIN, file: fileOf(header + rows.join('\n')) })
  }
  const outcomesOf = (found: readonly { readonly outcome: string }[]) =>
    found.map(({ outcome }) => outcome).join(', ')
  let refund = ''
  const steps: { readonly [step: string]: () => Promise<string> } = {
    'purchases record': async () => outcomesOf([await record('gold'), await record('gem')]),
    'purchases deliver': async () =>
      outcomesOf((await till.purchases.deliver(account, ORDER)).deliveries),
    'purchases import': async () => {
      const rows = ['gold', 'gem'].map((id) => `GPA.7/${id},gold,2026-01-31T12:00:00Z,499,USD`)
      return `${(await importFile(...rows)).skipped} skipped`
    },
    'purchases refund': async () => {
      const found = outcomesOf((await till.purchases.refund(account, ORDER)).refunds)
      const key = { ...MAIN, transaction_id: 'GPA.7/gold' }
      const { changes } = await till.purchases.changes(account, key)
      refund ||= changes[0]?.import_id ?? ''
      return found
    },
    'imports undo': async () => {
      await till.imports.undo(account, { import_id: refund })
      return 'undone'
    },
    'user erase': async () => {
      const erased = await till.users.erase(account, { project_id, user_id: 'ann' })
      return `${erased.purchases} erased`
    },
  }
  const rows = rowsOfPage()
  assert.ok(rows.length > 6)
  for (const [step = '', outcome, ...after] of rows) {
    const work = Object.entries(steps).find(([name]) => step.includes(name))?.[1]
    assert.ok(work, step)
    const answer = await work()
    const { owned } = await till.purchases.owned(account, { ...MAIN, user_id: 'ann' })
    const { purchases } = await till.purchases.list(account, { ...MAIN, undelivered: true })
    const [sums] = await till.purchases.summarize(account, { ...MAIN, by: ['currency'] })
    const shown = [
      String(owned[0]?.quantity ?? 0),
      String(purchases.length),
      `${sums?.revenue} / ${sums?.refunded_total}`,
    ]
    assert.deepEqual([step, answer, ...shown], [step, outcome, ...after])
  }
})
