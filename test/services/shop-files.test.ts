import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type ImportRequest,
  type ImportResult,
  type LayoutFile,
  type Purchase,
  TillError,
} from '../../lib/index.ts'
import { collect } from '../support/collect.ts'
import { testOnEach } from '../support/databases.ts'
import { createShopFile } from '../support/served.ts'
import { importForm, type ProblemBody, serveShop } from '../support/server.ts'
import { fileOf, openStorage } from '../support/till.ts'

/** How a file is read. HTTP and the CLI have these options as well. */
type Reading = Pick<ImportRequest, 'priceUnit' | 'refundsOnly'> & { readonly layout?: LayoutFile }

interface Step extends Reading {
  readonly lines: readonly string[]
  /** Some counts of the result. */
  readonly counts?: Partial<ImportResult>
  /** The mistakes of a file that is refused: line, column, code, and a part of the message. */
  readonly mistakes?: readonly (readonly [where: string, message: RegExp])[]
}

interface Case {
  readonly title: string
  /** The files of the case, which are imported one after the other. */
  readonly files: readonly Step[]
  /** The stored purchases afterwards, by id: price and currency, status, time, and user. */
  readonly stored?: { readonly [id: string]: string }
}

const HEADER = 'transaction_id,sku,purchased_at'
const MAY = (day: number) => `2026-05-0${day}T10:00:00Z`
const ROUNDED = /was rounded by a spreadsheet and its digits are lost/
const OTHER_TIME =
  /is another time than that of an earlier row .* were the ids rounded, or are these two sales/

const JOINED = { columns: { transaction_id: ['order', 'sku'], sku: 'sku', purchased_at: 'when' } }
const SALES: LayoutFile = {
  columns: { ...JOINED.columns, transaction_id: ['sale', 'sku'], price: 'total' },
  price_unit: 'major',
}
const SALE = `SQ1,gold,${MAY(1)},4.99`
const REFUNDS: LayoutFile = {
  columns: {
    ...{ transaction_id: 'id', sku: 'sku', purchased_at: 'when' },
    ...{ quantity: 'qty', price: 'total', status: 'type' },
  },
  statuses: { sale: 'purchased', refund: 'refunded' },
  price_unit: 'major',
}
const NEGATIVE = [
  ...['id,sku,when,qty,total,type', `K1,gold,${MAY(1)},1,4.99,sale`],
  `K2,gold,${MAY(2)},1,-4.99,sale`,
]
const VOIDED: LayoutFile = { columns: { transaction_id: 'orderId', status: 'status' } }
const dates = (date_format: string, zone: string): LayoutFile => ({
  ...{ columns: { transaction_id: 'id', sku: 'sku', purchased_at: 'day' }, date_format, zone },
})

/** Files as shops write them. Each stands for a kind of file. */
const CASES: readonly Case[] = [
  {
    title: 'a row without an order number',
    files: [
      {
        lines: ['order,sku,when', `,gold,${MAY(1)}`, `,gold,${MAY(2)}`, `1,gold,${MAY(2)}`],
        layout: JOINED,
        mistakes: [
          ['2 order required', /^is required$/],
          ['3 order required', /^is required$/],
        ],
      },
    ],
  },
  {
    title: 'rounded ids in any spelling',
    files: ['4.53e+15', '4.53E+15', '-4.53E+015', '453E+13'].map((id) => ({
      lines: [HEADER, `${id},gold,${MAY(1)}`, `${id},gold,${MAY(2)}`],
      mistakes: [
        ['2 transaction_id invalid', ROUNDED],
        ['3 transaction_id invalid', ROUNDED],
      ],
    })),
  },
  {
    title: 'blanks at the ends of cells',
    files: [
      {
        lines: [`${HEADER},user_id`, `T-3 ,gold,${MAY(1)},ann\u00a0`, `T-3,gold,${MAY(1)},ann`],
        counts: { rows: 1, added: 1, repeated: 1, repeated_lines: [3] },
      },
    ],
    stored: { 'T-3': `purchased ${MAY(1)} ann` },
  },
  {
    title: 'two equal lines of one sale, and two sales with one id',
    files: [
      {
        lines: ['sale,sku,when,total', SALE, SALE],
        layout: SALES,
        counts: {
          ...{ rows: 1, added: 1, repeated: 1, repeated_lines: [3] },
          totals: [{ status: 'purchased', currency: 'USD', rows: 1, total: '499' }],
        },
      },
      {
        lines: ['sale,sku,when,total', `SQ2,gold,${MAY(1)},4.99`, `SQ2,gold,${MAY(2)},4.99`],
        layout: SALES,
        mistakes: [['3 when transaction_conflict', OTHER_TIME]],
      },
      {
        lines: ['sale,sku,when,total', SALE, SALE],
        layout: { ...SALES, number_repeats: true },
        counts: { rows: 2, added: 1, skipped: 1, repeated: 0 },
      },
    ],
    stored: {
      'SQ1/gold': `499 USD purchased ${MAY(1)}`,
      'SQ1/gold/2': `499 USD purchased ${MAY(1)}`,
    },
  },
  {
    title: 'a day without a time',
    files: [
      { lines: ['id,sku,day', 'F1,gold,31/07/2026'], layout: dates('DD/MM/YYYY', 'Europe/London') },
    ],
    stored: { F1: 'purchased 2026-07-30T23:00:00Z' },
  },
  {
    title: 'a time that ends with UTC',
    files: [
      { lines: [HEADER, 'H1,gold,2026-05-01 10:00:00 UTC', 'H2,gold,2026-05-01 10:00 +0000 UTC'] },
      {
        lines: [HEADER, 'H3,gold,2026-05-01 10:00:00 EST', 'H4,gold,2026-02-30T10:00:00Z'],
        mistakes: [
          ['2 purchased_at invalid', /this one has another zone than Z, UTC, GMT or an offset$/],
          ['3 purchased_at invalid', /this one does not exist$/],
        ],
      },
    ],
    stored: { H1: `purchased ${MAY(1)}`, H2: `purchased ${MAY(1)}` },
  },
  {
    title: 'month names, years of two digits, and PDT',
    files: [
      { lines: ['id,sku,day', 'M1,gold,Jul-21-25'], layout: dates('MMM-DD-YY', 'UTC') },
      { lines: ['id,sku,day', 'M2,gold,08/14/25 10:00'], layout: dates('MM/DD/YY', 'UTC') },
      {
        lines: ['id,sku,day', 'M3,gold,"Jun 8, 2025 10:23:05 PM PDT"'],
        layout: dates('MMM DD, YYYY', 'UTC'),
      },
      {
        lines: ['id,sku,day', 'M4,gold,Jul-21-2025', 'M5,gold,Jul-21-25 10:00 JST'],
        layout: dates('MMM-DD-YY', 'UTC'),
        mistakes: [
          ['2 day invalid', /^must be a time like MMM-DD-YY or MMM-DD-YY HH:MM:SS$/],
          ['3 day invalid', /^ends with JST, which is no known zone: .* give zone in the layout$/],
        ],
      },
    ],
    stored: {
      M1: 'purchased 2025-07-21T00:00:00Z',
      M2: 'purchased 2025-08-14T10:00:00Z',
      M3: 'purchased 2025-06-09T05:23:05Z',
    },
  },
  {
    title: 'money with signs, codes and thousands',
    files: [
      {
        lines: [
          `${HEADER},price,currency`,
          ...[`A1,gold,${MAY(1)},$4.99,usd`, `A2,gold,${MAY(1)},4.99 €,EUR`],
          ...[`A3,gold,${MAY(1)},EUR 4.99,Eur`, `A4,gold,${MAY(1)}," 4.99",CAD`],
          ...[`A5,gold,${MAY(1)},"1,000",JPY`, `A6,gold,${MAY(1)},$4.99,CAD`],
        ],
        priceUnit: 'major',
      },
      {
        lines: [
          `${HEADER},price,currency`,
          ...[`B1,gold,${MAY(1)},€4.99,USD`, `B2,gold,${MAY(1)},4.5,JPY`],
          ...[`B3,gold,${MAY(1)},15.000,IDR`, `B4,gold,${MAY(1)},"4,99",EUR`],
        ],
        priceUnit: 'major',
        mistakes: [
          ['2 price invalid', /^has a currency sign or code that is not one of USD$/],
          ['3 price invalid', /^must be an amount that JPY can have, like 1234$/],
          ['4 price invalid', /^may have decimals or thousands: give decimal in a layout$/],
          ['5 price invalid', /like 1234\.50; the decimal mark must be a point$/],
        ],
      },
    ],
    stored: {
      A1: `499 USD purchased ${MAY(1)}`,
      A2: `499 EUR purchased ${MAY(1)}`,
      A3: `499 EUR purchased ${MAY(1)}`,
      A4: `499 CAD purchased ${MAY(1)}`,
      A5: `1000 JPY purchased ${MAY(1)}`,
      A6: `499 CAD purchased ${MAY(1)}`,
    },
  },
  {
    title: 'refunds that are known by their sign',
    files: [
      {
        lines: NEGATIVE,
        layout: REFUNDS,
        mistakes: [['3 total negative', /^is negative: give its status, or skip it$/]],
      },
      {
        lines: NEGATIVE,
        layout: { ...REFUNDS, negative: 'skip' },
        counts: { rows: 1, passed_over_reasons: [{ reason: 'negative', rows: 1 }] },
      },
      { lines: NEGATIVE, layout: { ...REFUNDS, negative: 'refunded' }, counts: { added: 1 } },
    ],
    stored: { K1: `499 USD purchased ${MAY(1)}`, K2: `499 USD refunded ${MAY(2)}` },
  },
  {
    title: 'a refund row with the id of its sale',
    files: [
      {
        lines: [
          ...['id,sku,when,qty,total,type', `K1,gold,${MAY(1)},2.0,9.98,sale`],
          `K1,gold,${MAY(2)},-2,(9.98),refund`,
        ],
        layout: REFUNDS,
        counts: { rows: 2, added: 1, updated: 1, repeated: 0 },
      },
    ],
    stored: { K1: `998 USD refunded ${MAY(1)}` },
  },
  {
    title: 'refunds by order id',
    files: [
      {
        lines: [
          ...[HEADER, `GPA.1/gold,gold,${MAY(1)}`, `GPA.1/gem,gold,${MAY(1)}`],
          ...[`2024/1,gold,${MAY(1)}`, `2024/2,gold,${MAY(4)}`],
        ],
      },
      {
        lines: ['orderId,status', 'GPA.1,refunded', '2024,refunded'],
        layout: VOIDED,
        refundsOnly: true,
        mistakes: [
          [
            '3 orderId ambiguous',
            /the ids of 2 purchases, which were not all made within 48 hours/,
          ],
        ],
      },
      {
        lines: ['orderId,status', 'GPA.1,refunded', 'GPA.9,refunded'],
        layout: VOIDED,
        refundsOnly: true,
        counts: { updated: 1, passed_over_reasons: [{ reason: 'not_stored', rows: 1 }] },
      },
    ],
    stored: {
      'GPA.1/gold': `refunded ${MAY(1)}`,
      'GPA.1/gem': `refunded ${MAY(1)}`,
      '2024/1': `purchased ${MAY(1)}`,
      '2024/2': `purchased ${MAY(4)}`,
    },
  },
  {
    title: 'another file than CSV, and titles above the header',
    files: [
      {
        lines: ['<table><tr><td>transaction_id</td></tr></table>'],
        mistakes: [['1 unsupported_file', /a web page or XML/]],
      },
      {
        lines: ['"All amounts in USD, unless specified"', HEADER, `Z1,gold,${MAY(1)}`],
        mistakes: [
          [
            '1 unsupported_file',
            /remove the lines above the header, or use a layout, which purchases explain proposes$/,
          ],
        ],
      },
      {
        lines: ['"All amounts in USD"', '', 'Order ID,SKU,When', `Z1,gold,${MAY(1)}`],
        layout: { columns: { transaction_id: 'order_id', sku: 'sku', purchased_at: 'when' } },
        counts: { rows: 1, passed_over_reasons: [{ reason: 'before_header', rows: 1 }] },
      },
    ],
    stored: { Z1: `purchased ${MAY(1)}` },
  },
  {
    title: 'words and columns of other programs',
    files: [
      {
        lines: [
          ...['Transaction ID,SKU,purchasedAt,Status', `W1,gold,${MAY(1)},paid`],
          `W2,gold,${MAY(1)},canceled`,
        ],
      },
      {
        lines: [`${HEADER},status`, `W3,gold,${MAY(1)},Paid`],
        mistakes: [
          ['2 status invalid', /^must be one of purchased, pending, refunded, cancelled$/],
        ],
      },
    ],
    stored: { W1: `purchased ${MAY(1)}`, W2: `cancelled ${MAY(1)}` },
  },
]

/** The answer to an import: its counts, or the mistakes of the file. */
type Answer = Partial<ImportResult> | readonly Mistake[]

interface Mistake {
  readonly line?: number
  readonly column?: string
  /** The CLI prints no codes. */
  readonly code?: string
  readonly message: string
}

function assertAnswer(answer: Answer, { counts = {}, mistakes }: Step, title: string): void {
  if (mistakes) {
    assert.ok(Array.isArray(answer), `${title} was imported`)
    const found = answer as readonly Mistake[]
    const places = found.map(({ line, column, code }) => [line, column, code].filter(Boolean))
    const expected = mistakes.map(([where], i) => {
      return found[i]?.code === undefined ? where.replace(/ \w+$/, '') : where
    })
    assert.deepEqual(
      places.map((place) => place.join(' ')),
      expected,
      title,
    )
    for (const [i, [, message]] of mistakes.entries()) {
      assert.match(found[i]?.message ?? '', message, title)
    }
    return
  }
  assert.ok(!Array.isArray(answer), `${title}: ${JSON.stringify(answer)}`)
  const result = answer as Partial<ImportResult>
  const keys = Object.keys(counts) as (keyof ImportResult)[]
  assert.deepEqual(Object.fromEntries(keys.map((key) => [key, result[key]])), counts, title)
}

function shortOf({ price, currency, status, purchased_at, user_id }: Purchase): string {
  const time = purchased_at.replace('.000Z', 'Z')
  return [price, price && currency, status, time, user_id]
    .filter((part) => part !== undefined)
    .join(' ')
}

/** Imports the files of all cases, each case into a store of its own. */
async function runCases(
  stores: {
    create(store_id: string): Promise<unknown>
    list(store_id: string): Promise<Purchase[]>
  },
  importInto: (store_id: string, step: Step) => Promise<Answer>,
): Promise<void> {
  for (const [i, { title, files, stored = {} }] of CASES.entries()) {
    const store_id = `store-${i}`
    await stores.create(store_id)
    for (const step of files) assertAnswer(await importInto(store_id, step), step, title)
    const all = await stores.list(store_id)
    const found = all.map((each) => [each.transaction_id, shortOf(each)])
    assert.deepEqual(Object.fromEntries(found), stored, title)
  }
}

/** A mistake in the output of the CLI. */
const MISTAKE = /^ {2}line (\d+)(?:, (\w+)|:) (.+)$/gm

const textOf = ({ lines }: Step) => `${lines.join('\n')}\n`

testOnEach(
  'files as shops write them give the same by library and by both HTTP endpoints',
  async (t) => {
    const storage = await openStorage()
    const server = await serveShop(t, { storage, options: { manage: true } })
    const { till, account, account_key, project_id, token } = server
    const item = { name: 'gold', display_name: 'Gold', price: '499', type: 'consumable' } as const
    const stores = (prefix: string) => ({
      create: async (id: string) => {
        const store_id = prefix + id
        const store = { project_id, store_id, store_type: 'web' as const }
        await till.stores.create(account, { ...store, store_config: { currency: 'USD' } })
        await till.items.create(account, { ...item, store_id })
      },
      list: (id: string) => collect(till.purchases.all(account, { store_id: prefix + id })),
    })

    await runCases(stores('lib-'), async (id, step) => {
      const { priceUnit, layout, refundsOnly } = step
      const reading = { priceUnit, layout, refundsOnly }
      const request = { store_id: `lib-${id}`, file: fileOf(textOf(step)), ...reading }
      return till.purchases.import(account, request).catch((error: unknown) => {
        if (error instanceof TillError) return error.details
        throw error
      })
    })

    const formOf = (step: Step, store_id?: string) => {
      const form = importForm(textOf(step), {
        ...(step.layout && { layout: JSON.stringify(step.layout) }),
        ...(step.priceUnit && { price_unit: step.priceUnit }),
        ...(step.refundsOnly && { refunds_only: 'true' }),
      })
      form.delete('store_id')
      if (store_id !== undefined) form.append('store_id', store_id)
      return form
    }
    const manage = async (store_id: string, step: Step) => {
      const path = `/manage/v1/stores/${store_id}/imports`
      const reply = await server.send(`POST ${path}`, { account_key, body: formOf(step) })
      return reply.status < 300
        ? reply.json<ImportResult>()
        : (reply.json<ProblemBody>().errors ?? [])
    }
    await runCases(stores('http-'), (id, step) => manage(`http-${id}`, step))

    await runCases(stores('public-'), async (id, step) => {
      const store_id = `public-${id}`
      if (step.priceUnit) return manage(store_id, step) // the public endpoint has layouts for that
      const body = formOf(step, store_id)
      const reply = await server.send('POST /api/v1/purchases/import', { token, body })
      if (reply.status >= 300) return reply.json<ProblemBody>().errors ?? []
      const count = (name: string) => Number(reply.headers.get(`import-${name}`))
      // The headers have some of the counts.
      return {
        ...step.counts,
        rows: count('rows'),
        skipped: count('skipped'),
        updated: count('updated'),
        repeated: count('repeated'),
        passed_over: count('passed-over'),
      }
    })
  },
)

test('files as shops write them give the same by CLI, and a user sees each mistake', async (t) => {
  const shop = await createShopFile(t)
  const { folder, run, json, account_id, project_id } = shop
  const ofAccount = ['--account', account_id]
  const stores = {
    create: async (store_id: string) => {
      const store = ['--project', project_id, '--type', 'web', '--store', store_id]
      await json('store', 'create', ...ofAccount, ...store, '--config', '{"currency":"USD"}')
      const item = ['--name', 'gold', '--display-name', 'Gold', '--price', '499']
      const args = [...ofAccount, '--store', store_id, ...item, '--type', 'consumable']
      await json('item', 'create', ...args)
    },
    list: async (store_id: string) => {
      const { stdout } = await run('purchases', 'list', ...ofAccount, '--store', store_id, '--json')
      return (JSON.parse(stdout) as { purchases: Purchase[] }).purchases
    },
  }
  const write = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }

  await runCases(stores, async (store_id, step) => {
    const args = [...ofAccount, '--store', store_id]
    if (!step.mistakes) args.push('--json')
    if (step.layout) args.push('--layout', write('layout.json', JSON.stringify(step.layout)))
    if (step.priceUnit) args.push('--price-unit', step.priceUnit)
    if (step.refundsOnly) args.push('--refunds-only')
    const file = write('sales.csv', textOf(step))
    const { code, stdout, stderr } = await run('purchases', 'import', file, ...args)
    if (code === 0) return JSON.parse(stdout) as ImportResult
    return Array.from(stderr.matchAll(MISTAKE), ([, line, column = '', message = '']) => {
      return { line: Number(line), column, message }
    })
  })
})
