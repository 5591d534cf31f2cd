import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatErrorReport } from '../../lib/csv/error-report.ts'
import { collect } from '../support/collect.ts'
import { readWith } from '../support/csv/layouts.ts'
import { read, shortOf } from '../support/purchase-file.ts'

const AT = '2026-05-01T10:00:00Z'
const LAYOUT = { columns: { transaction_id: 'Order No', sku: 'Item', purchased_at: 'When' } }
const TITLES = [
  '"All amounts in USD, unless specified"',
  '',
  'Report 5" of "x',
  'Order No,Item',
  '""',
]
const HEADER = 'Order No;Item;When'

test('the header of a file with a layout is the first of 50 lines with all its columns', () => {
  const { errors, purchases, reasons } = readWith(LAYOUT, [
    ...TITLES,
    HEADER,
    `1;gold;${AT}`,
    `;gold;${AT}`,
  ])
  assert.deepEqual(errors.map(shortOf), ['8 Order No required'])
  assert.equal(purchases.length, 1)
  assert.deepEqual(reasons, [{ reason: 'before_header' }])

  const lines = (count: number) => [...Array(count).fill('a title'), HEADER, `1;gold;${AT}`]
  assert.equal(readWith(LAYOUT, lines(49)).purchases.length, 1)
  assert.equal(readWith(LAYOUT, lines(50)).errors[0]?.code, 'missing_column')
  const twice = readWith(LAYOUT, [HEADER, HEADER, `1;gold;${AT}`])
  assert.deepEqual(twice.errors.map(shortOf), ['2 repeated_header'])
})

test('a file without a layout with lines above its header is refused with the reason', () => {
  const header = 'transaction_id,sku,purchased_at'
  const title = read(['"All amounts in USD, unless specified"', header, `1,gold,${AT}`])
  assert.match(title.errors[0]?.message ?? '', /no header: remove the lines above the header/)
  const table = read(['<table><tr><td>transaction_id</td></tr></table>'])
  assert.match(table.errors[0]?.message ?? '', /a web page/)
})

test('a report of bad rows has the cells of a file with lines above its header', async () => {
  const file = [...TITLES, HEADER, `;gold;${AT}`].join('\n')
  const mistakes = new Map([[7, [{ line: 7, column: 'Order No', code: 'x', message: 'y' }]]])
  const bytes = (async function* () {
    yield Buffer.from(file)
  })()
  const lines = await collect(formatErrorReport(bytes, mistakes, LAYOUT))
  assert.deepEqual(lines, [
    'line,column,code,message,tillkit_export,Order No,Item,When\r\n',
    `7,Order No,x,y,1,,gold,${AT}\r\n`,
  ])
})

test('names of columns match in any case, and with blanks or capitals for underscores', () => {
  for (const header of [
    'Transaction ID,SKU,Purchased At,User ID',
    'transactionId,sku,purchasedAt,userId',
    'TRANSACTION_ID,Sku,PurchasedAt,USER_ID',
    'Order ID,Item Name,Created_At,user id',
  ]) {
    const { purchases, errors } = read([header, `1,gold,${AT},ann`])
    assert.deepEqual(errors, [], header)
    assert.deepEqual(Object.values(purchases[0] ?? {}).slice(0, 4), [
      ...['1', 'gold', '2026-05-01T10:00:00.000Z', 'ann'],
    ])
  }
  const { errors, purchases } = readWith(LAYOUT, ['order_no,ITEM,when', `1,gold,${AT}`])
  assert.deepEqual([errors, purchases.length], [[], 1])
})

test('an exact name of a column wins over a loose one, and two loose ones are an error', () => {
  const idOf = (header: string, options = {}) => {
    const { purchases, errors } = read([header, `1,2,gold,${AT}`], options)
    return errors.map(shortOf).join() || (purchases[0] as { transaction_id: string }).transaction_id
  }
  assert.equal(idOf('Transaction ID,transaction_id,sku,purchased_at'), '2')
  assert.equal(idOf('Transaction ID,order_id,sku,purchased_at'), '2')
  assert.equal(
    idOf('Transaction ID,transactionId,sku,purchased_at'),
    '1 transactionId duplicate_column',
  )
  // A column that is exact for one field is no loose match of another one.
  assert.equal(idOf('Order ID,transaction_id,sku,date', { map: { user_id: 'Order ID' } }), '2')
  assert.equal(idOf('Order_ID,x,sku,date', { map: { transaction_id: 'order id' } }), '1')
})

test('a column of a layout that is there twice is an error, also one to join or to skip by', () => {
  const columns = { ...LAYOUT.columns, transaction_id: ['Order No', 'Line'] }
  const layout = { columns, skip: { Kind: ['fee'] } }
  const errorsOf = (header: string) => {
    const cells = header.split(',').map((_, i) => (i === 2 ? 'gold' : i === 3 ? AT : `${i}`))
    return readWith(layout, [header, cells.join(',')]).errors.map(shortOf)
  }
  assert.deepEqual(errorsOf('Order No,Line,Item,When,Kind'), [])
  assert.deepEqual(errorsOf('Order No,Line,Item,When,Kind,LINE'), ['1 LINE duplicate_column'])
  assert.deepEqual(errorsOf('Order No,Line,Item,When,Kind,kind'), ['1 kind duplicate_column'])
  assert.deepEqual(errorsOf('Order No,Line,Item,When,Ki nd,K_ind'), ['1 K_ind duplicate_column'])
  assert.deepEqual(errorsOf('Order No,Line,Item,When,Kind,item'), ['1 item duplicate_column'])
  // An exact name wins.
  assert.deepEqual(errorsOf('Order No,Line,Item,When,Kind,K_ind'), [])
})
