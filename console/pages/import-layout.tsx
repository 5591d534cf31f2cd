import { useState } from 'preact/hooks'
import type { Explanation } from '../../client/manage.ts'
import {
  PURCHASE_FIELDS,
  PURCHASE_STATUSES,
  type PurchaseField,
} from '../../lib/domain/purchase.ts'
import { useLoad } from '../data.ts'
import { labelOf } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { type FieldInfo, Select } from '../parts/fields.tsx'
import { Fields, type Values } from '../parts/form.tsx'
import { Await, Notice } from '../parts/notice.tsx'
import { Table } from '../parts/table.tsx'
import { client, remembered } from '../session.ts'

interface LayoutFile {
  readonly columns: { readonly [F in PurchaseField]?: string } & {
    readonly transaction_id: string | readonly string[]
  }
  readonly statuses?: { readonly [word: string]: string }
  readonly skip?: { readonly [column: string]: readonly string[] }
}

interface LayoutChoiceProps {
  readonly store_id: string
  readonly file: File
  readonly onCheck: (layout: object) => void
}

/** The server examines no more bytes of a file. One more tells it that the file goes on. */
const EXAMINED = 8 * 1024 ** 2 + 1

/** The columns of a file of unknown format, with the layout that the server proposes. */
export function LayoutChoice({ store_id, file, onCheck }: LayoutChoiceProps) {
  const loaded = useLoad(
    (signal) => client.purchases.explain({ store_id, file: file.slice(0, EXAMINED) }, { signal }),
    [store_id],
  )
  return (
    <Await loaded={loaded}>
      {(found) => <Columns found={found} name={`${store_id} columns`} onCheck={onCheck} />}
    </Await>
  )
}

interface ColumnsProps extends Pick<LayoutChoiceProps, 'onCheck'> {
  readonly found: Explanation
  /** The name under which the browser remembers the choices. */
  readonly name: string
}

/** The choice for a SKU that is also the end of the transaction id. */
const JOINED = 'sku+'
const MEANINGS = [
  ['', 'Not stored'] as const,
  ...PURCHASE_FIELDS.map((field) => [field, labelOf(field)] as const),
  [JOINED, 'SKU, and end of the id'] as const,
]

function Columns({ found, name, onCheck }: ColumnsProps) {
  const [values, setValues] = useState(() => ({
    ...valuesOf(found),
    ...rememberedFor(found, name),
  }))
  const { columns, questions, remarks, missing = [] } = found
  const fields = fieldsFor(found, values)
  const isShown = (about: string) => fields.some((field) => field.name === about)
  const open = [
    ...questions.filter(({ about }) => !isShown(about)).map(({ question }) => question),
    ...missing.map(({ field, reason }) => `${labelOf(field)}: ${reason}`),
    ...remarks.filter((remark) => !remark.includes('--')), // an option of the CLI
  ]
  const check = () => {
    remembered.write(name, JSON.stringify(values))
    onCheck(layoutOf(found, values))
  }
  return (
    <>
      {open.length > 0 && (
        <Notice title="The file leaves this open">
          <ul>
            {open.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </Notice>
      )}
      <Table
        label="Columns of the file"
        rows={columns}
        columns={[
          ['Column', ({ column }) => column],
          ['Examples', ({ samples }) => samples.join(' · ') || 'empty'],
          [
            'Meaning',
            ({ column }) => (
              <Select
                options={MEANINGS}
                value={values[columnKey(column)] ?? ''}
                onChange={(field) => setValues({ ...values, [columnKey(column)]: field })}
                attributes={{ 'aria-label': `Meaning of ${column}` }}
              />
            ),
            'end',
          ],
        ]}
      />
      <div class="filters choices">
        <Fields fields={fields} values={values} onChange={setValues} />
      </div>
      <div class="actions">
        <Button label="Check with these columns" class="primary" onClick={check} />
      </div>
    </>
  )
}

const columnKey = (column: string) => `column ${column}`
const wordKey = (word: string) => `word ${word}`

/** The choices that the proposed layout makes. */
function valuesOf({ columns, layout }: Explanation): Values {
  const { columns: named, statuses, skip, ...keys } = (layout ?? {}) as Partial<LayoutFile>
  const isJoined = (field = '') =>
    field === 'sku' && named?.transaction_id.includes(named.sku ?? '')
  const words = (skip?.[named?.status ?? ''] ?? []).map((word) => [word, ''] as const)
  return Object.fromEntries([
    ['price_unit', 'minor'],
    ...Object.entries(keys).map(([key, value]) => [key, String(value)]),
    ...columns.map(({ column, field }) => [
      columnKey(column),
      isJoined(field) ? JOINED : (field ?? ''),
    ]),
    ...[...Object.entries(statuses ?? {}), ...words].map(([word, to]) => [wordKey(word), to]),
  ])
}

/** The choices of an earlier file, if this one has the same columns. */
function rememberedFor({ columns }: Explanation, name: string): Values {
  const values: Values = JSON.parse(remembered.read(name) || '{}')
  return columns.every(({ column }) => columnKey(column) in values) ? values : {}
}

/** The keys of a layout, some only for files with a certain field. */
const KEYS: readonly (FieldInfo & { readonly of?: PurchaseField })[] = [
  { name: 'zone', label: 'Time zone', options: ['UTC', ...Intl.supportedValuesOf('timeZone')] },
  {
    name: 'price_unit',
    label: 'Prices',
    of: 'price',
    options: [
      ['minor', '499 for 4.99'],
      ['major', '4.99'],
    ],
  },
  {
    name: 'decimal',
    label: 'Decimal mark',
    of: 'price',
    options: [
      ['', 'Point, if it is clear'],
      ['.', 'Point: 4.99'],
      [',', 'Comma: 4,99'],
    ],
  },
  { name: 'currency', label: 'Currency of rows without one', of: 'price', width: 8 },
  {
    name: 'negative',
    label: 'Amounts below zero',
    of: 'price',
    options: [
      ['', 'are mistakes'],
      ['refunded', 'are refunds'],
      ['skip', 'are passed over'],
    ],
  },
  { name: 'number_repeats', label: 'Equal ids are further sales', kind: 'check' },
]

/** The choices besides the columns, with the questions that the file leaves open. */
function fieldsFor(found: Explanation, values: Values): readonly FieldInfo[] {
  const { date_format = '' } = valuesOf(found)
  const swapped = date_format.replace(/DD|MM/g, (part) => (part === 'DD' ? 'MM' : 'DD'))
  const formats = new Set([date_format, swapped, 'DD.MM.YYYY', 'MM/DD/YYYY'].filter(Boolean))
  const options = [['', 'ISO 8601 or Unix'] as const, ...formats]
  const keys = KEYS.filter(({ of = '' }) => !of || Object.values(values).includes(of))
  const words = wordsOf(found, values).map((word) => ({
    name: wordKey(word),
    label: `Rows with ${word ? `“${word}”` : 'no status'}`,
    options: [['', 'are passed over'] as const, ...PURCHASE_STATUSES],
  }))
  const fields: readonly FieldInfo[] = [
    { name: 'date_format', label: 'Dates', options },
    ...keys,
    ...words,
  ]
  return fields.map((field) => ({
    ...field,
    hint: found.questions.find(({ about }) => about === field.name)?.question,
  }))
}

/** The words of the column with the status. */
function wordsOf({ columns }: Explanation, values: Values): readonly string[] {
  const status = columns.find(({ column }) => values[columnKey(column)] === 'status')
  if (status?.field !== 'status') return status?.samples ?? []
  return Object.keys(values).flatMap((key) => /^word (.*)$/s.exec(key)?.[1] ?? [])
}

/** The layout of the choices. A part that is undefined is not sent. */
function layoutOf(found: Explanation, values: Values): object {
  const columnsOf = (meaning: string) =>
    found.columns.flatMap(({ column }) => (values[columnKey(column)] === meaning ? [column] : []))
  const ends = { sku: columnsOf(JOINED), transaction_id: columnsOf(JOINED) }
  const columns = PURCHASE_FIELDS.map((field) => {
    const named = [...columnsOf(field), ...(ends[field as keyof typeof ends] ?? [])]
    return [field, named.length > 1 ? named : named[0]]
  })
  const isUsed = (of: string) => !of || columnsOf(of).length > 0
  const keys = KEYS.filter(({ kind, of = '' }) => kind !== 'check' && isUsed(of))
  const words = wordsOf(found, values).map((word) => [word, values[wordKey(word)]] as const)
  const statuses = words.filter(([, status]) => status)
  const [status = '-'] = columnsOf('status')
  const { columns: proposed, skip = {} } = (found.layout ?? {}) as Partial<LayoutFile>
  const { [proposed?.status ?? '']: _, ...skipped } = skip
  return {
    columns: Object.fromEntries(columns),
    date_format: values.date_format || undefined,
    ...Object.fromEntries(keys.map(({ name }) => [name, values[name] || undefined])),
    number_repeats: values.number_repeats === 'true',
    ...(statuses.length > 0 && { statuses: Object.fromEntries(statuses) }),
    skip: {
      ...skipped,
      ...(words.length > 0 && {
        [status]: words.filter(([, status]) => !status).map(([word]) => word),
      }),
    },
  }
}
