import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TillError } from '../../lib/index.ts'
import { allTargets } from '../support/targets.ts'
import { createShop, failureOf, fileOf } from '../support/till.ts'

const HEADER = 'transaction_id,sku,purchased_at,user_id,quantity,price,currency,status,metadata'

const good = (line: number) =>
  `T-${line},gold,2024-03-01T12:34:56Z,ann,1,499,USD,purchased,"{""line"":${line}}"`

/** The error code of each defect, and a function that adds the defect to a good row. */
const defects: readonly (readonly [code: string, spoil: (row: string) => string])[] = [
  ['required', (row) => row.replace(/^T-\d+/, '')],
  ['unknown_sku', (row) => row.replace('gold', 'silver')],
  ['invalid', (row) => row.replace('56Z', '56')],
  ['invalid', (row) => row.replace('03-01T', '02-30T')],
  ['invalid', (row) => row.replace(',1,', ',0,')],
  ['invalid', (row) => row.replace('499', '4.99')],
  ['invalid', (row) => row.replace('USD', 'usd')],
  ['invalid', (row) => row.replace('purchased', 'paid')],
  ['invalid', (row) => row.replace(/"{.*$/, '[1]')],
  ['wrong_width', (row) => `${row},`],
  ['misplaced_quote', (row) => row.replace('gold', 'go"ld')],
  ['bare_cr', (row) => row.replace('ann', 'an\rn')],
  ['transaction_conflict', (row) => row.replace(/^T-\d+/, 'T-2').replace('ann', 'bob')],
]

/** Functions that encode a text as a file. */
const encodings = {
  'UTF-8 with LF': (text: string) => Buffer.from(text),
  'UTF-8 with CRLF': (text: string) => Buffer.from(text.replaceAll('\n', '\r\n')),
  'UTF-8 with a byte order mark': (text: string) => Buffer.from(`\uFEFF${text}`),
  'UTF-16 LE': (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le'),
  'UTF-16 BE': (text: string) => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16(),
  semicolons: (text: string) =>
    Buffer.from(text.replace(/,(?=(?:[^"\n]*"[^"\n]*")*[^"\n]*$)/gm, ';')),
}

const ROWS = 40
let files = 0

for (const [name, encode] of Object.entries(encodings)) {
  test(`each bad file in ${name} is refused with the line of its defect, and nothing is stored`, async () => {
    const { till, account } = await createShop()
    for (const [index, [code, spoil]] of defects.entries()) {
      for (const at of [3 + index, ROWS]) {
        const rows = Array.from({ length: ROWS }, (_, i) => good(i + 2))
        rows[at - 2] = spoil(good(at))
        // The function above cannot replace delimiters around a misplaced quote.
        if (name === 'semicolons' && code === 'misplaced_quote') continue
        const bytes = encode(`${HEADER}\n${rows.join('\n')}\n`)
        async function* file() {
          for (let from = 0; from < bytes.length; from += 97) yield bytes.subarray(from, from + 97)
        }

        const refusal = await till.purchases
          .import(account, { store_id: 'main', file: file() })
          .then(
            () => assert.fail(`${code} on line ${at} was taken`),
            (error: unknown) => error,
          )

        assert.ok(refusal instanceof TillError, String(refusal))
        const found = refusal.details.map((detail) => [detail.line, detail.code])
        assert.deepEqual(found, [[at, code]], `${code} on line ${at}`)
        const { purchases } = await till.purchases.list(account, { store_id: 'main' })
        assert.deepEqual(purchases, [])
        files++
      }
    }
  })
}

test('at least a hundred bad files were imported', () => assert.ok(files >= 100, `${files} files`))

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
