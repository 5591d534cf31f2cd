import { useState } from 'preact/hooks'
import type { ErrorDetail, Explanation } from '../../client/manage.ts'
import {
  PURCHASE_FIELDS,
  PURCHASE_STATUSES,
  type PurchaseField,
} from '../../lib/domain/purchase.ts'
import { labelOf } from '../format.ts'
import { Button } from '../parts/button.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { Fields, type Values } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { remembered } from '../session.ts'

interface LayoutFile {
  readonly columns: { readonly [F in PurchaseField]?: string | readonly string[] }
  readonly statuses?: Values
  readonly skip?: { readonly [column: string]: readonly string[] }
  readonly price_unit?: string
  readonly decimal?: string
}

/** The choice for a SKU that is also the end of the transaction id. */
const JOINED = 'sku+'
const MEANINGS = [
  ['', 'Not stored'] as const,
  ...PURCHASE_FIELDS.map((field) => [field, labelOf(field)] as const),
  [JOINED, 'SKU, and end of the id'] as const,
]

interface LayoutChoiceProps {
  readonly found: Explanation
  readonly store_id: string
  readonly onCheck: (layout: object) => void
}

/** The columns of a file of unknown format, with the layout that the server proposes. */
export function LayoutChoice({ found, store_id, onCheck }: LayoutChoiceProps) {
  const name = `${store_id} layout`
  const [values, setValues] = useState(() => rememberedFor(found, name) ?? valuesOf(found))
  const { questions, remarks, missing = [] } = found
  const fields = fieldsFor(found, values)
  const details = repeatedIn(found, values)
  const open = [
    ...questions
      .map(({ question }) => question)
      .filter((question) => !fields.some(({ hint }) => hint?.includes(question))),
    ...missing.map(({ field, reason }) => `${labelOf(field)}: ${reason}`),
    ...remarks.filter((remark) => !remark.includes('--')), // an option of the CLI
  ]
  const check = () => {
    remembered.write(name, JSON.stringify(values))
    onCheck(layoutOf(found, values))
  }
  return (
    <>
      <Notice tone="warning" title="The format of this file is not known">
        <p>Say what its columns are, or choose its format above.</p>
        <ul>
          {open.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      </Notice>
      <div class="filters choices">
        <Fields fields={fields} values={values} onChange={setValues} error={{ details }} />
      </div>
      <div class="actions">
        <Button
          label="Check with these columns"
          class="primary"
          disabled={details.length > 0}
          onClick={check}
        />
      </div>
    </>
  )
}

const columnKey = (column: string) => `column ${column}`
const wordKey = (word: string) => `word ${word}`
const skipKey = (column: string) => `skip ${column}`

/** The choices that the proposed layout makes. */
function valuesOf({ columns, layout }: Explanation): Values {
  const { columns: named, statuses, skip, ...keys } = layoutIn(layout)
  const { price_unit = 'minor', decimal = '', ...others } = keys
  const isJoined = [named.transaction_id].flat().includes(named.sku as string)
  const meaningOf = (field = '') => (field === 'sku' && isJoined ? JOINED : field)
  const skipped = skip?.[named.status as string]?.map((word) => [wordKey(word), '']) ?? []
  return Object.fromEntries([
    ...columns.map(({ column, field }) => [columnKey(column), meaningOf(field)]),
    ...Object.entries(others).map(([key, value]) => [key, String(value)]),
    ['price', price_unit + decimal],
    ...skipped,
    ...Object.entries(statuses ?? {}).map(([word, status]) => [wordKey(word), status]),
  ])
}

const layoutIn = (layout: object = {}) => ({ columns: {}, ...layout }) as LayoutFile

/**
 * The choices of an earlier file, if this one has the same columns. Words of a status that the
 * earlier one lacked have what is proposed.
 */
function rememberedFor(found: Explanation, name: string): Values | undefined {
  const values: Values = JSON.parse(remembered.read(name) || '{}')
  const isSame = found.columns.every(({ column }) => columnKey(column) in values)
  return isSame ? { ...valuesOf(found), ...values } : undefined
}

/** The keys of a layout, some only for files with prices. */
function keysFor(found: Explanation, values: Values): readonly FieldInfo[] {
  const { date_format = '' } = valuesOf(found)
  const swapped = date_format.replace(/DD|MM/g, (part) => (part === 'DD' ? 'MM' : 'DD'))
  const formats = new Set([date_format, swapped, 'DD.MM.YYYY', 'MM/DD/YYYY'].filter(Boolean))
  return [
    { name: 'date_format', label: 'Dates', options: [['', 'ISO 8601 or Unix'], ...formats] },
    ...KEYS,
    ...(Object.values(values).includes('price') ? PRICE_KEYS : []),
  ]
}

/** The choices, with the questions that the file leaves open. */
function fieldsFor(found: Explanation, values: Values): readonly (FieldInfo & Hint)[] {
  const questionOf = (name: string) => found.questions.find(({ about }) => about === name)?.question
  return [
    ...found.columns.map(({ column, samples }) => ({
      name: columnKey(column),
      label: `Meaning of ${column}`,
      hint: [samples.join(' · ') || 'empty', questionOf(`columns.${meaningIn(values, column)}`)]
        .filter(Boolean)
        .join('. '),
      options: MEANINGS,
    })),
    ...keysFor(found, values).map((field) => ({ ...field, hint: questionOf(field.name) })),
    ...wordsOf(found, values).map((word) => ({
      name: wordKey(word),
      label: `Rows with ${word ? `“${word}”` : 'no status'}`,
      options: [['', 'are passed over'] as const, ...PURCHASE_STATUSES],
    })),
    ...skipsOf(found).map(([column, words]) => ({
      name: skipKey(column),
      label: `Rows with ${words.map((word) => `“${word}”`).join(', ')} in ${column}`,
      options: { '': 'are passed over', keep: 'are imported' },
    })),
  ]
}

interface Hint {
  readonly hint?: string | undefined
}

/** The field of a column. */
function meaningIn(values: Values, column: string): string {
  const meaning = values[columnKey(column)] ?? ''
  return meaning === JOINED ? 'sku' : meaning
}

/** The columns whose meaning another one has as well, if a layout cannot join the two. */
function repeatedIn({ columns }: Explanation, values: Values): readonly ErrorDetail[] {
  return columns.flatMap((each) => {
    const meaning = meaningIn(values, each.column)
    const other = columns.find(
      (other) => other !== each && meaningIn(values, other.column) === meaning,
    )
    if (!other || ['', 'transaction_id', 'purchased_at'].includes(meaning)) return []
    const message = `is ${labelOf(meaning)}, and so is that of ${other.column}: choose one of the two columns`
    return [{ field: columnKey(each.column), code: 'invalid', message }]
  })
}

/** The columns whose words mark rows to pass over, other than the status and the SKU. */
function skipsOf({ layout }: Explanation) {
  const { columns, skip = {} } = layoutIn(layout)
  return Object.entries(skip).filter(([name]) => name !== columns.status && name !== columns.sku)
}

/** The words of the column with the status. */
function wordsOf({ columns }: Explanation, values: Values): readonly string[] {
  const status = columns.find(({ column }) => values[columnKey(column)] === 'status')
  if (status?.field !== 'status') return status?.samples ?? []
  return Object.keys(values).flatMap((key) => /^word (.*)$/s.exec(key)?.[1] ?? [])
}

const KEYS: readonly FieldInfo[] = [
  {
    name: 'zone',
    label: 'Time zone',
    options: ['UTC', ...Intl.supportedValuesOf('timeZone')],
  },
  { name: 'number_repeats', label: 'Equal ids are further sales', kind: 'check' },
]

/** The keys for files with prices. */
const PRICE_KEYS: readonly FieldInfo[] = [
  {
    name: 'price',
    label: 'Prices',
    options: {
      minor: '499 for 4.99',
      major: '4.99',
      'major.': '4.99 and 12,500.00',
      'major,': '4,99 and 12.500,00',
    },
  },
  { name: 'currency', label: 'Currency of rows without one', width: 8 },
  {
    name: 'negative',
    label: 'Amounts below zero',
    options: { '': 'are mistakes', refunded: 'are refunds', skip: 'are passed over' },
  },
]

/** The layout of the choices. A part that is undefined is not sent. */
function layoutOf(found: Explanation, values: Values): object {
  const columnsOf = (meaning: string) =>
    found.columns.flatMap(({ column }) => (values[columnKey(column)] === meaning ? [column] : []))
  const columns = PURCHASE_FIELDS.map((field) => {
    const named = columnsOf(field)
    return [field, named.length > 1 ? named : named[0]]
  })
  const [joined] = columnsOf(JOINED)
  const [status] = columnsOf('status')
  const words = wordsOf(found, values).map((word) => [word, values[wordKey(word)]] as const)
  const statuses = words.filter(([, to]) => to)
  const { columns: proposed, skip = {} } = layoutIn(found.layout)
  const kept = skipsOf(found).flatMap(([name]) => (values[skipKey(name)] ? [name] : []))
  const skipped = Object.entries(skip).filter(
    ([name]) => name !== proposed.status && !kept.includes(name),
  )
  const keys = keysFor(found, values).map(({ name }) => [name, values[name] || undefined])
  const { price = '', number_repeats, ...others } = Object.fromEntries(keys)
  return {
    ...others,
    price_unit: price.slice(0, 5) || undefined,
    decimal: price.slice(5) || undefined,
    number_repeats: number_repeats === 'true',
    columns: {
      ...Object.fromEntries(columns),
      ...(joined && { sku: joined, transaction_id: [...columnsOf('transaction_id'), joined] }),
    },
    ...(statuses.length > 0 && { statuses: Object.fromEntries(statuses) }),
    skip: {
      ...Object.fromEntries(skipped),
      ...(status && { [status]: words.filter(([, to]) => !to).map(([word]) => word) }),
    },
  }
}
