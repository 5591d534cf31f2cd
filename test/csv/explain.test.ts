import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BUNDLE_ID,
  googlePlayReport,
  ITEMS,
  SKU_MAP,
  webStoreFile,
} from '../../cli/serve/demo-shop.ts'
import { type Explanation, type LayoutFile, TillError } from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { SHOP_EXPORTS } from '../support/csv/shop-exports.ts'
import { testOnEach } from '../support/databases.ts'
import { createRandom, SEED } from '../support/random.ts'
import { createShop, openStorage } from '../support/till.ts'

const textOf = (lines: readonly string[]) => `${lines.join('\n')}\n`
const fileOf = (lines: readonly string[]) => [Buffer.from(textOf(lines))]

/** A shop whose store `main` has the items gold, gem_bag and potion. */
async function openShop() {
  const shop = await createShop({ storage: await openStorage() })
  const { till, account } = shop
  for (const name of ['gem_bag', 'potion']) {
    const item = { store_id: 'main', name, display_name: `The ${name}`, price: '499' }
    await till.items.create(account, { ...item, type: 'consumable' })
  }
  return {
    ...shop,
    explain: (lines: readonly string[]) =>
      till.purchases.explain(account, { store_id: 'main', file: fileOf(lines) }),
  }
}

for (const { title, lines, stored, asks, answers, passedOver = 0 } of SHOP_EXPORTS) {
  test(`a layout is proposed that imports the export of ${title}`, async () => {
    const { till, account, explain } = await openShop()
    const { layout, questions, format } = await explain(lines)
    assert.equal(format, 'layout')
    assert.ok(layout)
    assert.deepEqual(
      questions.map(({ about }) => about),
      asks,
      JSON.stringify(questions, null, 1),
    )
    const file = fileOf(lines)
    const answered = { ...layout, ...answers }
    const request = { store_id: 'main', file, layout: answered }
    const { passed_over } = await till.purchases.import(account, request)
    assert.equal(passed_over, passedOver)
    const all = await collect(till.purchases.all(account, { store_id: 'main' }))
    const found = all.map((each) => {
      const { sku, purchased_at, quantity, price, currency, status, user_id } = each
      const parts = [sku, purchased_at, quantity, price, currency, status, user_id]
      return [each.transaction_id, parts.filter((part) => part !== undefined).join(' ')]
    })
    assert.deepEqual(Object.fromEntries(found), stored)
  })
}

test('the files of a real shop are read as before when their columns have other names', async () => {
  const { till, account, explain } = await openShop()
  const others = ITEMS.filter(({ name }) => name !== 'potion')
  for (const item of others) await till.items.create(account, { ...item, store_id: 'main' })
  const store_config = { currency: 'USD', bundle_id: BUNDLE_ID }
  await till.stores.update(account, { store_id: 'main', store_config })
  const sales = { now: Date.parse('2026-11-18T16:00:00Z'), purchases: 1_000 }
  const skus = `${SKU_MAP}\ncom.example.puzzle.hints,`
  for (const [generate, names] of [
    [
      googlePlayReport,
      { 'Order Number': 'Order No', 'SKU ID': 'Sku', 'Financial Status': 'State' },
    ],
    [
      webStoreFile,
      { transaction_id: 'Sale', sku: 'Article', purchased_at: 'When', price: 'Cents' },
    ],
  ] as const) {
    const text = Buffer.concat([...generate(sales)]).toString()
    const renamed = Object.entries(names).reduce((all, [a, b]) => all.replace(a, b), text)
    const { layout } = await explain(renamed.trim().split('\n'))
    assert.ok(layout)
    const request = { store_id: 'main', skus, dryRun: true }
    const known = await till.purchases.import(account, { ...request, file: [Buffer.from(text)] })
    const file = [Buffer.from(renamed)]
    const { totals } = await till.purchases.import(account, { ...request, file, layout })
    assert.ok(totals.length > 13)
    assert.deepEqual(totals, known.totals)
  }
})

/** A file with a column to examine beside an id, a SKU and a time. */
const withColumn = (name: string, cells: readonly string[]) => [
  `Order ID,SKU,Date,${name}`,
  ...cells.map((cell, i) => `A${i},gold,2026-05-0${i + 1}T10:00:00Z,"${cell}"`),
]

const keysOf = ({ layout }: Explanation): LayoutFile => layout ?? assert.fail()
const fieldOf = ({ columns }: Explanation, name: string) =>
  columns.find(({ column }) => column === name)?.field

testOnEach('contents outvote names', async () => {
  const { explain } = await openShop()
  const answer = await explain([
    'Transaction ID,Order ID,SKU,Item Name,Date,Time',
    'T1,O1,Large,gold,n/a,2026-05-01T10:00:00Z',
    'T1,O2,Small,gem_bag,n/a,2026-05-02T10:00:00Z',
    'T2,O3,Large,gold,n/a,2026-05-03T10:00:00Z',
  ])
  assert.deepEqual(keysOf(answer).columns, {
    transaction_id: 'Order ID',
    sku: 'Item Name',
    purchased_at: 'Time',
  })
})

test('each kind of column is found by its cells', async () => {
  const { explain } = await openShop()
  for (const [name, cells, field] of [
    ['Total', ['$4.99', '5.00', '-1.50'], 'price'],
    ['Amount', ['499', '5', '10'], 'price'],
    ['Total', ['four', 'five'], undefined],
    ['Fee', ['0.30', '0.40'], undefined],
    ['Qty', ['1', '2.0'], 'quantity'],
    ['Qty', ['few', 'many'], undefined],
    ['Player', ['p-1', 'p-2'], 'user_id'],
    ['Player', ['a@example.invalid', 'b@example.invalid'], undefined],
    ['State', ['paid', 'refunded'], 'status'],
    ['Statement', ['Texas', 'Ohio'], undefined],
    ['Refunded', ['no', 'YES'], 'status'],
  ] as const) {
    const answer = await explain(withColumn(name, cells))
    assert.equal(fieldOf(answer, name), field, `${name}: ${cells.join()}`)
  }
})

test('the order of day and month, and the decimal mark, fit every row', async () => {
  const { explain } = await openShop()
  const format = async (...days: string[]) => {
    const rows = days.map((day, i) => `A${i},gold,${day}`)
    const { layout, questions } = await explain(['Order ID,SKU,Date', ...rows])
    return [layout?.date_format, questions.some(({ about }) => about === 'date_format')]
  }
  assert.deepEqual(await format('03/04/2025', '13/04/2025'), ['DD/MM/YYYY', false])
  assert.deepEqual(await format('03/04/2025', '04/13/2025'), ['MM/DD/YYYY', false])
  assert.deepEqual(await format('03/04/2025', '04/04/2025', '05/04/2025'), ['DD/MM/YYYY', true])
  assert.deepEqual(await format('04/03/2025', '04/04/2025', '04/05/2025'), ['MM/DD/YYYY', true])
  assert.deepEqual(await format('25.12.24', '26.12.24'), ['DD.MM.YY', false])
  assert.deepEqual(await format('20250721', '20250722'), ['YYYYMMDD', false])
  assert.deepEqual(await format('21 July 2025', '22 July 2025'), ['DD MMM YYYY', false])

  const decimal = async (...amounts: string[]) => {
    const answer = await explain(withColumn('Total', amounts))
    const asks = answer.questions.filter(({ about }) => about === 'decimal')
    return [answer.layout?.decimal, asks.length]
  }
  assert.deepEqual(await decimal('1.234,50'), [',', 0])
  assert.deepEqual(await decimal('1,500', '2.50'), ['.', 0])
  assert.deepEqual(await decimal('1,500', '12,000'), ['.', 0])
  assert.deepEqual(await decimal('5', '7', '8', '9', '1,500'), ['.', 0])
  assert.deepEqual(await decimal('1,500', '2.500'), ['.', 1])
  assert.deepEqual(await decimal('KWD 1.500', 'KWD 12.000'), [',', 1])
})

test('prices of the items tell whether amounts are in minor units, else it is asked', async () => {
  const { explain } = await openShop()
  const unit = async (...amounts: string[]) => {
    const { layout, questions } = await explain(withColumn('Amount', amounts))
    return [layout?.price_unit, questions.some(({ about }) => about === 'price_unit')]
  }
  assert.deepEqual(await unit('499', '499'), ['minor', false])
  assert.deepEqual(await unit('5', '7'), ['major', true])
  assert.deepEqual(await unit('4.99', '5'), ['major', false])
})

test('the amount of the row is told from that of the order, of one piece, and without the fee', async () => {
  const { explain } = await openShop()
  const price = async (...lines: string[]) => {
    const answer = await explain(lines)
    return [answer.layout?.columns.price, answer.questions.map(({ about }) => about).join()]
  }
  const time = '2026-05-01T10:00:00Z'
  assert.deepEqual(
    await price(
      'Order ID,SKU,Date,Qty,Price,Line sum,Order total,Currency',
      ...[`A,gold,${time},2,4.00,8.00,11.00,EUR`, `A,gem_bag,${time},1,3.00,3.00,11.00,EUR`],
    ),
    ['Line sum', ''],
  )
  assert.deepEqual(
    await price(
      ...['ID,SKU,Date,Amount,Fee,Total,Currency', `A,gold,${time},4.00,0.50,3.50,EUR`],
      `B,gold,${time},6.00,0.75,5.25,EUR`,
    ),
    ['Amount', ''],
  )
  assert.deepEqual(await price('ID,SKU,Date,Qty,Price,Currency', `A,gold,${time},2,4.00,EUR`), [
    'Price',
    'columns.price',
  ])
})

test('equal ids of rows that differ are numbered, and asked about', async () => {
  const { explain } = await openShop()
  const rows = (last: string) => [
    'Order No,Article,When,Till',
    'A,gold,2026-05-01T10:00:00Z,1',
    `A,gold,2026-05-01T10:00:00Z,${last}`,
  ]
  for (const [last, numbered] of [
    ['2', true],
    ['1', undefined],
  ] as const) {
    const { layout, questions } = await explain(rows(last))
    assert.equal(layout?.number_repeats, numbered)
    assert.deepEqual(
      questions.map(({ about }) => about),
      ['number_repeats'],
    )
  }
})

test('unknown words of a status are passed over, and asked about', async () => {
  const { explain } = await openShop()
  const { layout, questions } = await explain(withColumn('Status', ['Paid', 'Zrušeno', 'Paid']))
  assert.deepEqual(layout?.statuses, { Paid: 'purchased' })
  assert.deepEqual(layout?.skip, { Status: ['Zrušeno'] })
  assert.match(questions[0]?.question ?? '', /"Zrušeno" \(1 row\)/)
})

test('a status without a known word is in the layout, which refuses the words of later files', async () => {
  const { till, account, explain } = await openShop()
  for (const name of ['Status', 'State', 'Zustand', 'Estado', '状态', 'Payment status code']) {
    for (const word of ['ok', 'Confirmed', '1', '']) {
      const linesOf = (...words: string[]) =>
        withColumn(name, words).map((line) => line.replace('Order ID', 'Bestellung'))
      const { layout, questions } = await explain(linesOf(word, word))
      assert.equal(layout?.columns.status, name, word)
      assert.deepEqual(layout?.statuses, { [word]: 'purchased' })
      assert.deepEqual(
        questions.map(({ about }) => about),
        ['statuses'],
      )
      const later = fileOf(linesOf(word, 'Refunded'))
      const request = { store_id: 'main', file: later, layout, dryRun: true }
      await assert.rejects(till.purchases.import(account, request), (error: TillError) => {
        const [detail] = error.details
        return detail?.column === name && detail.line === 3
      })
    }
  }
})

test('a word of a status that comes after the examined rows is refused', async () => {
  const { till, account } = await openShop()
  const lines = Array.from({ length: 10_100 }, (_, i) => {
    return `A${i},gold,2026-05-01T10:00:00Z,${i === 10_090 ? 'Refunded' : 'ok'}`
  })
  const file = fileOf(['Order ID,SKU,Date,Status', ...lines])
  const { layout, is_partial } = await till.purchases.explain(account, { store_id: 'main', file })
  assert.equal(is_partial, true)
  const request = { store_id: 'main', file, layout, dryRun: true }
  await assert.rejects(till.purchases.import(account, request), (error: TillError) => {
    return error.details[0]?.line === 10_092
  })
})

test('a second column with the name of a status, and one with many texts, are asked about', async () => {
  const { explain } = await openShop()
  const two = await explain(
    withColumn('Status,Payment status', ['ok', 'ok']).map((line) =>
      line.replace('"ok"', 'ok,paid'),
    ),
  )
  const texts = Array.from(
    { length: 50 },
    (_, i) => `A${i},gold,2026-05-01T10:00:00Z,Text ${i} of 50`,
  )
  const many = await explain(['Order ID,SKU,Date,Status', ...texts])
  for (const { questions } of [two, many]) {
    assert.deepEqual(
      questions.map(({ about }) => about),
      ['columns.status'],
    )
  }
  assert.equal(two.layout?.columns.status, 'Payment status')
})

test('test orders are passed over, also those of later files', async () => {
  const { till, account, explain } = await openShop()
  for (const [name, sale, order] of [
    ['Environment', 'Production', 'Sandbox'],
    ['is_test', 'false', 'true'],
    ['Testbestellung', 'nein', 'ja'],
    ['Test order', 'no', 'yes'],
    ['Sandbox', '0', '1'],
    ['Sandbox', '', '1'],
    ['livemode', 'true', 'false'],
  ] as const) {
    const both = withColumn(name, [sale, order, sale])
    for (const lines of [both, withColumn(name, [sale, sale])]) {
      const { layout, remarks } = await explain(lines)
      assert.ok(
        remarks.some((each) => /^Test orders are passed over: /.test(each)),
        name,
      )
      const request = { store_id: 'main', file: fileOf(both), layout, dryRun: true }
      const { rows, passed_over } = await till.purchases.import(account, request)
      assert.deepEqual([rows, passed_over], [2, 1], name)
    }
  }
})

test('words that may mark test orders are asked about', async () => {
  const { explain } = await openShop()
  const mode = await explain(withColumn('Mode', ['live', 'test']))
  assert.deepEqual(mode.layout?.skip, { Mode: ['test'] })
  const odd = await explain(withColumn('Test order', ['odd', 'even']))
  assert.equal(odd.layout?.skip, undefined)
  for (const { questions } of [mode, odd]) assert.equal(questions[0]?.about, 'skip')
})

test('a file with canonical names and test orders gets a layout', async () => {
  const { explain } = await openShop()
  const { format, layout } = await explain([
    'transaction_id,sku,purchased_at,is_test',
    'A,gold,2026-05-01T10:00:00Z,true',
  ])
  assert.deepEqual([format, layout?.skip], ['layout', { is_test: ['true'] }])
})

test('a sandbox store gets the test orders', async () => {
  const { till, account, project_id } = await openShop()
  const { store_id } = await till.stores.create(account, {
    project_id,
    store_type: 'web',
    is_sandbox: true,
  })
  const file = fileOf(withColumn('is_test', ['true', 'false']))
  const { layout, remarks } = await till.purchases.explain(account, { store_id, file })
  assert.equal(layout?.skip, undefined)
  assert.ok(remarks.some((each) => each.startsWith('is_test marks test orders')))
})

test('the user is found by its name in each language, or said to be missing', async () => {
  const { explain } = await openShop()
  for (const name of [
    ...['Spieler', 'Spieler-ID', 'Spielername', 'Gamer', 'Account', 'Account-ID', 'Nutzer'],
    ...['Benutzer', 'Kunden-ID', 'Mitglied', 'Joueur', 'ID jugador', 'ID do jogador', 'Giocatore'],
    ...[
      'Gracz',
      'Oyuncu',
      'ID игрока',
      'プレイヤーID',
      '会員ID',
      '游戏账号',
      '會員編號',
      '유저ID',
      'اللاعب',
    ],
  ]) {
    const { layout, remarks } = await explain(withColumn(name, ['p-1', 'p-2']))
    assert.equal(layout?.columns.user_id, name)
    assert.ok(!remarks.some((each) => each.includes('nobody')))
  }
  for (const name of ['Spieler', 'Account', 'Benutzer', '玩家']) {
    assert.equal(fieldOf(await explain(withColumn(name, ['ann', 'bob'])), name), 'user_id')
  }
  for (const name of ['Kunde', 'Account balance', 'Game']) {
    const { layout, remarks } = await explain(withColumn(name, ['Ann Lee', 'Bo Day']))
    assert.equal(layout?.columns.user_id, undefined)
    assert.ok(remarks.includes('No column is the user: the purchases will belong to nobody'))
  }
})

test('the columns of a game studio are found in each language', async () => {
  const { explain } = await openShop()
  for (const header of [
    'Receipt ID;Item ID;Purchase date;Member ID;Count;Amount;Currency;Payment state',
    'Bestellnr.;Artikelnr.;Kaufzeitpunkt;Spieler-ID;Stück;Endbetrag;Währung;Zustand',
    'N° de commande;Référence produit;Date de commande;Pseudo;Qté;Montant TTC;Devise;Statut',
    'ID de transacción;Artículo;Fecha;Usuario;Unidades;Importe;Divisa;Situación',
    'Nº do pedido;Código do produto;Data da compra;Utilizador;Qtd.;Valor pago;Moeda;Situação',
    'N. ordine;Codice prodotto;Data acquisto;ID giocatore;Q.tà;Importo;Divisa;Stato',
    '№ заказа;Артикул;Дата покупки;ID игрока;Кол-во;Сумма;Валюта;Состояние',
    '決済番号;アイテムID;決済日時;プレイヤーID;個数;支払金額;通貨コード;決済状況',
    '流水号;道具ID;支付时间;角色ID;数量;支付金额;币种;支付状态',
    '訂單編號;商品編號;購買時間;會員編號;數量;金額;幣別;狀態',
    '거래ID;아이템ID;결제시간;유저ID;개수;결제금액;통화;결제상태',
    'Sipariş No;Ürün Kodu;Satın Alma Tarihi;Oyuncu ID;Adet;Tutar;Para Birimi;Durum',
    'رقم الطلب;رمز المنتج;تاريخ الشراء;معرف اللاعب;الكمية;المبلغ;العملة;الحالة',
  ]) {
    const rows = [1, 2, 3].map(
      (i) => `X-10${i};com.studio.item${i};2026-01-1${i}T10:00:00Z;p-${i};${i};4,9${i};EUR;ok`,
    )
    const { columns } = await explain([header, ...rows])
    assert.deepEqual(
      columns.map(({ field }) => field),
      [
        'transaction_id',
        'sku',
        'purchased_at',
        'user_id',
        'quantity',
        'price',
        'currency',
        'status',
      ],
      header,
    )
  }
})

test('a column of SKUs is preferred to one with the names of items', async () => {
  const { explain } = await openShop()
  const { layout } = await explain([
    'Bestellnummer,Produkttitel,Produkt-ID,Kaufdatum',
    'A,The gem_bag,com.studio.game.gems.50,2026-05-01T10:00:00Z',
    'B,The potion,com.studio.game.potion,2026-05-02T10:00:00Z',
  ])
  assert.equal(layout?.columns.sku, 'Produkt-ID')
})

test('dates of refunds beside a sale are named', async () => {
  const { explain } = await openShop()
  const { remarks } = await explain(withColumn('Erstattet am', ['2026-06-01', '2026-06-02', '']))
  assert.ok(
    remarks.includes('Erstattet am has a date, but the row counts as purchased (2 rows)'),
    remarks.join(),
  )
})

test('at most five questions are asked, and further ones are remarks', async () => {
  const { explain } = await openShop()
  const { questions, remarks } = await explain([
    'Order ID,Product ID,Item,Created,Paid,Qty,Price,Amount,Status',
    'A,x1,y1,03/04/2025,04/04/2025,2,4.00,5.00,Paid',
    'A,x1,y1,03/04/2025,05/04/2025,2,4.50,5.00,Odd',
    'A,x1,y2,03/04/2025,05/04/2025,3,-4.00,5.00,Paid',
  ])
  assert.equal(questions.length, 5, JSON.stringify(questions))
  assert.equal(questions[0]?.about, 'date_format')
  assert.ok(remarks.some((each) => each.includes('The layout has:')))
})

test('a known file needs no layout', async () => {
  const { explain } = await openShop()
  const canonical = await explain([
    'transaction_id,sku,purchased_at,price,currency',
    'A,gold,2026-05-01T10:00:00Z,499,USD',
  ])
  assert.deepEqual([canonical.format, canonical.layout], ['canonical', undefined])
  const preset = await explain([
    'id,Created date (UTC),Amount,Currency,Status,sku (metadata)',
    'ch_1,2024-01-01 10:00:00,4.99,usd,Paid,gold',
  ])
  assert.deepEqual([preset.format, preset.layout], ['stripe_payments', undefined])
})

test('a file with canonical names and other contents gets a layout', async () => {
  const { explain } = await openShop()
  const { format, layout } = await explain(['order_id,item,date', 'A,gold,31/05/2026'])
  assert.deepEqual([format, layout?.date_format], ['layout', 'DD/MM/YYYY'])
})

test('rows without a currency, and amounts of refunds beside a sale, are named', async () => {
  const { explain } = await openShop()
  const { questions, remarks } = await explain([
    'Order ID,SKU,Date,Total,Currency,Refunded amount',
    'A,gold,2026-05-01T10:00:00Z,4.99,EUR,0.00',
    'B,gold,2026-05-02T10:00:00Z,4.99,,1.00',
  ])
  assert.deepEqual(
    questions.map(({ question }) => question),
    ['In which currency are the amounts without Currency (1 row)?'],
  )
  assert.ok(remarks.includes('Refunded amount is above 0, but the row counts as purchased (1 row)'))
})

test('a column is asked about if nothing but its cells tells what it is', async () => {
  const { explain } = await openShop()
  const { layout, questions } = await explain([
    'a,b,c,d,Estado',
    'ORD-1,gold,2025-07-21T10:15:00Z,4.99,lost',
    'ORD-2,gem_bag,2025-07-22T10:15:00Z,9.98,found',
  ])
  const named = { transaction_id: 'a', sku: 'b', purchased_at: 'c', status: 'Estado' }
  assert.deepEqual(layout?.columns, named)
  assert.deepEqual(
    questions.map(({ about }) => about),
    ['columns.transaction_id', 'columns.price', 'statuses'],
  )
})

test('a word that JavaScript objects know is a word of a status', async () => {
  const { explain } = await openShop()
  const { layout } = await explain(withColumn('Status', ['paid', 'constructor', '__proto__']))
  assert.deepEqual(layout?.skip, { Status: ['constructor', '__proto__'] })
  const unknown = await explain(withColumn('Zustand', ['constructor', '__proto__']))
  assert.deepEqual(Object.keys(unknown.layout?.statuses ?? {}), ['constructor', '__proto__'])
})

test('a file with many columns that mark test orders gets a layout that an import accepts', async () => {
  const { till, account, explain } = await openShop()
  const names = Array.from({ length: 40 }, (_, i) => `Test ${i}`).join()
  const lines = withColumn(names, ['no', 'no']).map((line) =>
    line.replace('"no"', Array(40).fill('no').join()),
  )
  const { layout } = await explain(lines)
  const request = { store_id: 'main', file: fileOf(lines), layout, dryRun: true }
  assert.equal((await till.purchases.import(account, request)).rows, 2)
})

test('the reason is given when no id, SKU or time is found, and for reports without ids', async () => {
  const { explain } = await openShop()
  const { layout, missing } = await explain([
    'City,Mood,Date',
    'Paris,good,the first of May',
    'Rome,bad,the second of May',
  ])
  assert.equal(layout, undefined)
  assert.deepEqual(
    missing?.map(({ field }) => field),
    ['transaction_id', 'sku', 'purchased_at'],
  )
  for (const lines of [
    ['A-1,gold,2026-05-01T10:00:00Z', 'A-2,gold,2026-05-02T10:00:00Z'],
    ['a,b,c'],
  ]) {
    await assert.rejects(explain(lines), { code: 'invalid_purchases' })
  }
  const voided = await explain(['orderId,status', 'GPA.1,refunded', 'GPA.2,refunded'])
  assert.deepEqual(voided.remarks, [
    'With --refunds-only, a layout with orderId and status is enough',
  ])
  const months = await explain([
    'Bestellnummer,SKU,Datum',
    'A,gold,21. Mai 2025',
    'B,gold,22. Mai 2025',
  ])
  assert.match(months.missing?.[0]?.reason ?? '', /^Datum has times .* like 21\. Mai 2025$/)
  for (const lines of [
    [
      'Provider\tSKU\tProduct Type Identifier\tUnits\tDeveloper Proceeds',
      'APPLE\tgold\tIA1\t1\t3.49',
    ],
    ['sep=,', 'Steam Sales', 'Bundle(ID#),Product(ID#),Gross Units Sold,Net Units Sold', '1,2,3,4'],
  ]) {
    await assert.rejects(explain(lines), (error: TillError) => {
      assert.equal(error.code, 'invalid_purchases')
      assert.match(error.details[0]?.message ?? '', /no transaction ids/)
      return true
    })
  }
})

test('the first 10,000 rows are read, and the source of a longer file is closed', async () => {
  const { till, account } = await openShop()
  const row = (i: number) => `A${i},gold,2026-05-01T10:00:00Z,4.99\n`
  let isClosed = false
  let yielded = 0
  async function* file() {
    try {
      yield Buffer.from('Order ID,Article,When,Total\n')
      for (; yielded < 1e6; yielded += 100) {
        yield Buffer.from(Array.from({ length: 100 }, (_, i) => row(yielded + i)).join(''))
      }
    } finally {
      isClosed = true
    }
  }
  const answer = await till.purchases.explain(account, { store_id: 'main', file: file() })
  assert.deepEqual([answer.rows, answer.is_partial, isClosed], [10_000, true, true])
  assert.ok(yielded < 11_000)
  assert.equal(answer.layout?.columns.sku, 'Article')
  const { imports } = await till.imports.list(account, { store_id: 'main' })
  assert.deepEqual(imports, [], 'nothing is imported')
})

test('other calls get turns while a hostile file is explained', async () => {
  const { till, account } = await openShop()
  const header = (name: string) => Array.from({ length: 256 }, (_, i) => `${name} ${i}`).join()
  const lines = (count: number, line: string) => Array.from({ length: count }, () => line)
  for (const [title, file] of [
    ['256 columns of dates', [header('Date'), ...lines(1_200, Array(256).fill('1/2/25').join())]],
    ['256 columns of amounts', [header('Total'), ...lines(1_200, Array(256).fill('1.5').join())]],
    ['lines of names', lines(200, header('Bestellnummer'))],
    ['long cells', ['Order ID,SKU,Date', ...lines(7, `${'9.'.repeat(5e5)},${'a@'.repeat(99)},x`)]],
    ['blanks', ['Order ID,SKU,Date', ...lines(9_000, `x,g,${'1 '.repeat(31)}`)]],
    ['an open quote', ['Order ID,SKU,Date', 'A,gold,x', `"${'a\n'.repeat(3e6)}`]],
  ] as const) {
    let turns = 0
    let isDone = false
    const take = () => {
      turns++
      if (!isDone) setImmediate(take)
    }
    setImmediate(take)
    const request = { store_id: 'main', file: fileOf(file) }
    const answer = await till.purchases.explain(account, request).catch(() => undefined)
    isDone = true
    assert.ok(turns > 0, title)
    assert.equal(answer?.layout, undefined, title)
  }
})

/** Parts of damaged files. */
const DAMAGE = [
  ...['', '""', '"', ',', ';', '\n', '\0', '__proto__', 'constructor', '1e5', '-', '(', '\ufeff'],
  ...['9'.repeat(300), '2025-02-30', '$', '\ud800', '1,500', 'CST', 'refund', ' ', '0', 'id'],
]

test(`damaged files are refused or get a layout that imports accept, with the seed ${SEED}`, async () => {
  const { till, account } = await openShop()
  const random = createRandom()
  const pick = <T>(list: readonly T[]) => list[Math.floor(list.length * random())] as T
  const isOfFile = (error: unknown) =>
    assert.ok(error instanceof TillError && error.code === 'invalid_purchases', String(error))
  let layouts = 0
  for (let i = 0; i < 100; i++) {
    const rows = pick(SHOP_EXPORTS).lines.map((line) => line.split(/([,;])/))
    for (let damage = 0; damage < 12 * random(); damage++) {
      const row = pick(rows)
      const at = Math.floor(row.length * random())
      row[at] = random() < 0.5 ? pick(DAMAGE) : row[at] + pick(DAMAGE)
    }
    const file = fileOf(rows.map((row) => row.join('')))
    const request = { store_id: 'main', file }
    const answer = await till.purchases.explain(account, request).catch(isOfFile)
    if (!answer?.layout) continue
    layouts++
    const read = { ...request, layout: answer.layout, dryRun: true }
    await till.purchases.import(account, read).catch(isOfFile)
  }
  assert.ok(layouts > 10)
})
