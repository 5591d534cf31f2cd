import { fc } from '../support/seeds.ts'
import type { Body } from './bodies.ts'
import { text } from './json.ts'

type Row = readonly string[]

interface Vendor {
  readonly header: Row
  readonly row: fc.Arbitrary<Row>
  /** Whether the import must accept every row of the file. */
  readonly isRight: boolean
}

const id = fc.uuid()
const time = fc.constantFrom('2024-03-01T12:34:56Z', '2024-02-29 00:00+05:30', '1709296496')
const amount = fc.constantFrom('0.00', '4.99', '1,234.50')
const user = text(0, 12).map((each) => each.trim())

const CANONICAL = [
  ...['Transaction_ID', 'sku', 'purchased_at', 'user_id', 'quantity', 'price', 'currency'],
  ...['status', 'metadata', 'comment'],
]

const vendors: readonly Vendor[] = [
  {
    header: CANONICAL,
    row: fc.tuple(
      ...[id, fc.constant('gold'), time, user, fc.constantFrom('', '1', '1000000')],
      ...[fc.constantFrom('', '0', '499'), fc.constantFrom('USD', 'EUR')],
      ...[fc.constantFrom('', 'purchased', 'pending', 'refunded', 'cancelled')],
      ...[fc.constantFrom('', '{}', '{"a":[1,"x"],"__proto__":null}'), text(0, 9)],
    ),
    isRight: true,
  },
  {
    header: CANONICAL.slice(0, 9),
    row: fc.tuple(
      ...[fc.oneof(id, text(0, 4)), fc.constantFrom('gold', 'gem', '', '__proto__'), time, user],
      ...[
        fc.constantFrom('0', '-1', '1e3', '1000001', '١'),
        fc.constantFrom('4.99', '-1', '9'.repeat(40)),
      ],
      ...[fc.constantFrom('usd', 'DOGE', ''), fc.constantFrom('Purchased', '__proto__', 'x')],
      ...[fc.constantFrom('[]', '{', '{"a":1e400}', `${'{"a":'.repeat(40)}1${'}'.repeat(40)}`)],
    ),
    isRight: false,
  },
  {
    header: [
      ...['Order Number', 'Order Charged Timestamp', 'Financial Status', 'SKU ID'],
      ...['Charged Amount', 'Currency of Sale'],
    ],
    row: fc.tuple(
      ...[id, fc.constant('1709296496'), fc.constantFrom('Charged', 'Refund'), fc.constant('gold')],
      ...[amount, fc.constantFrom('USD', 'EUR')],
    ),
    isRight: true,
  },
  {
    header: [
      ...['rc_original_app_user_id', 'store_transaction_id', 'product_identifier', 'start_time'],
      ...['price_in_purchased_currency', 'purchased_currency', 'is_sandbox', 'refunded_at'],
      'renewal_number',
    ],
    row: fc.tuple(
      ...[user, id, fc.constant('gold'), fc.constant('2024-03-01 12:34:56'), amount],
      ...[fc.constant('USD'), fc.constantFrom('true', 'false'), fc.constantFrom('', '2024-03-02')],
      fc.constantFrom('', '1'),
    ),
    isRight: false,
  },
  {
    header: ['id', 'Created date (UTC)', 'Amount', 'Currency', 'Status', 'sku (metadata)'],
    row: fc.tuple(
      ...[id, fc.constant('2024-03-01 12:34'), amount, fc.constant('usd')],
      ...[fc.constantFrom('Paid', 'Refunded', 'Failed'), fc.constant('gold')],
    ),
    isRight: true,
  },
  {
    header: [
      ...['Name', 'Financial Status', 'Paid at', 'Currency', 'Lineitem quantity'],
      ...['Lineitem name', 'Lineitem price', 'Lineitem sku'],
    ],
    row: fc.tuple(
      ...[
        fc.oneof(id, fc.constant('#1')),
        fc.constantFrom('paid', ''),
        fc.constantFrom('', '2024-01-15 10:22:33 -0500'),
      ],
      ...[fc.constantFrom('USD', ''), fc.constantFrom('1', '2'), text(0, 9), amount],
      fc.constantFrom('gold', ''),
    ),
    isRight: false,
  },
  {
    header: ['Provider', 'SKU', 'Product Type Identifier', 'Units', 'Developer Proceeds'],
    row: fc.constant(['APPLE', 'gold', '1', '2', '3.50']),
    isRight: false,
  },
]

const ENCODINGS: { readonly [name: string]: (text: string) => Buffer } = {
  utf8: (text) => Buffer.from(text),
  'utf8 with a BOM': (text) => Buffer.from(`\ufeff${text}`),
  utf16le: (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  utf16be: (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16(),
}

/** Files as vendors and programs write them: every encoding, delimiter, quoting and line ending. */
const wellMade: fc.Arbitrary<Body> = fc
  .constantFrom(...vendors)
  .chain(({ header, row, isRight }) =>
    fc.record({
      header: fc.constant(header),
      rows: fc.array(row, { minLength: 1, maxLength: 5 }),
      isRight: fc.constant(isRight),
      delimiter: fc.constantFrom(',', ';', '\t'),
      lineEnd: fc.constantFrom('\n', '\r\n'),
      ending: fc.boolean(),
      quoteAll: fc.boolean(),
      encoding: fc.constantFrom(...Object.keys(ENCODINGS)),
    }),
  )
  .map(({ header, rows, isRight, delimiter, lineEnd, ending, quoteAll, encoding }) => {
    const cell = (value: string) =>
      quoteAll || /["\r\n]|^ | $/.test(value) || value.includes(delimiter)
        ? `"${value.replaceAll('"', '""')}"`
        : value
    const lines = [header, ...rows].map((row) => row.map(cell).join(delimiter))
    const content = lines.join(lineEnd) + (ending ? lineEnd : '')
    const bytes = ENCODINGS[encoding]?.(content).toString('latin1') ?? ''
    return isRight ? { bytes, expected: 'accepted' } : { bytes, expected: undefined }
  })

interface Edit {
  readonly at: number
  readonly cut: number
  readonly put: string
}

export const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  cut: fc.constantFrom(0, 0, 1, 2, 20),
  put: fc.constantFrom(
    '',
    '"',
    '""',
    ',',
    ';',
    '\n',
    '\r',
    '\r\n',
    '\0',
    '\xff',
    '\xc3',
    '=1',
    ' ',
  ),
})

const damaged = fc
  .tuple(wellMade, fc.array(edit, { minLength: 1, maxLength: 3 }))
  .map(([{ bytes }, edits]): Body => ({ bytes: edits.reduce(applied, bytes), expected: undefined }))

export function applied(bytes: string, { at, cut, put }: Edit): string {
  const place = Math.floor(at * bytes.length)
  return bytes.slice(0, place) + put + bytes.slice(place + cut)
}

const absurd = fc
  .constantFrom(
    ...['', '\n', '\ufeff', ',', '"', '\0', 'transaction_id', 'transaction_id,sku,purchased_at'],
    ...[
      'sku,sku,item,date\n',
      `${'a,'.repeat(5_000)}\n`,
      `transaction_id,sku,date\n"${'a\n'.repeat(40_000)}`,
    ],
    `transaction_id,sku,date\n${'x,gem,1\n'.repeat(300)}`,
  )
  .map((bytes): Body => ({ bytes, expected: undefined }))

/** Purchase files: valid, damaged and nonsensical. */
export const purchaseFile: fc.Arbitrary<Body> = fc.oneof(
  { weight: 9, arbitrary: wellMade },
  { weight: 4, arbitrary: damaged },
  { weight: 1, arbitrary: absurd },
)
