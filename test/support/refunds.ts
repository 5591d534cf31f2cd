import type { Account, Till } from '../../lib/index.ts'
import { fileOf } from './till.ts'

/**
 * Imports purchases of the item `gold`, and then refunds them by a second import. About 110 of them
 * fit into a message, because their users have long names.
 */
export async function importRefunds(till: Till, account: Account, count: number) {
  const user_id = 'ü'.repeat(250)
  const rows = (status: string) => {
    const row = (_: unknown, i: number) => `t${i},gold,2026-01-01T00:00:00Z,${user_id},${status}\n`
    return [
      'transaction_id,sku,purchased_at,user_id,status\n',
      ...Array.from({ length: count }, row),
    ]
  }
  for (const status of ['purchased', 'refunded']) {
    const file = fileOf(rows(status).join(''))
    await till.purchases.import(account, { store_id: 'main', file })
  }
}
