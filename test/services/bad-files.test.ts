import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allTargets } from '../support/targets.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,quantity,price,currency,status,metadata'

/** Rows with a bad identity field that differ from others of the same transaction. */
const VAGUE = `${HEADER}
T-1,gold,2024-03-01T12:34:56Z,ann,1,,EUR,,
T-1,gold,2024-03-01T12:34:56Z,ann,1,4.99,,,
,gold,2024-03-01T12:34:56Z,ann,1,499,USD,,
,silver,2024-03-01T12:34:56Z,bob,2,500,EUR,refunded,
T-2,gold,2024-03-01T12:34:56Z,ann,1,4.99,EUR,refunded,
T-2,gem,2024-03-01T12:34:56Z,bob,0,,,cancelled,
T-2,silver,2024-03-01T12:34:56Z,bob,0,,,,
`

for (const { name, open, skip } of await allTargets()) {
  test(`a row with a bad identity field is not compared with others, in ${name}`, {
    skip,
  }, async (t) => {
    const { till, account } = await createShop({ storage: await open(t) })
    await till.items.create(account, {
      store_id: 'main',
      name: 'gem',
      display_name: 'Gem',
      price: '1',
      type: 'consumable',
    })

    const { details } = await failureOf(
      till.purchases.import(account, { store_id: 'main', file: fileOf(VAGUE) }),
    )

    assert.deepEqual(
      details.map(({ line, column, code }) => `${line} ${column} ${code}`),
      [
        '3 price invalid',
        '4 transaction_id required',
        '5 transaction_id required',
        '5 sku unknown_sku',
        '6 price invalid',
        '7 quantity invalid',
        '8 sku unknown_sku',
        '8 quantity invalid',
      ],
    )
  })
}
