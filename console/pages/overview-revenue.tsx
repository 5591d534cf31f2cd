import type { PurchaseTotal } from '../../client/manage.ts'
import { formatCount, formatMoney, formatPeriod } from '../format.ts'
import { Columns } from '../parts/columns.tsx'
import { Facts, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { MAX_PERIODS } from './periods.ts'

interface RevenueProps {
  /** The total of one currency. */
  readonly total: PurchaseTotal
  /** The total of the period before. */
  readonly before: PurchaseTotal | undefined
  readonly isCompared: boolean
  readonly periods: readonly string[]
  readonly rows: readonly PurchaseTotal[]
}

/** The revenue of each period in one currency. */
export function Revenue({ total, before, isCompared, periods, rows }: RevenueProps) {
  const { currency } = total
  const found = new Map(rows.map((row) => [nameOf(row), row]))
  const money = (minor: string | number) => formatMoney(minor, currency)
  const label = `Revenue in ${currency}`
  const figure = (name: string, field: Compared, format: (value: string | number) => string) => {
    const change = isCompared && (
      <Change now={total[field]} before={before?.[field] ?? 0} {...{ format }} />
    )
    const shown = (
      <>
        <span class="figure">{format(total[field])}</span> {change}
      </>
    )
    return [name, shown] as const
  }
  return (
    <Section title={label}>
      <Facts
        facts={[
          figure('Revenue', 'revenue', money),
          figure('Refunded', 'refunded_total', money),
          figure('Purchases', 'purchased', (count) => formatCount(Number(count))),
        ]}
      />
      <Columns
        label={`${label}: ${money(total.revenue)} in ${periods.length} periods`}
        names={periods.map(formatPeriod)}
        values={periods.map((period) => Number(found.get(period)?.revenue ?? 0))}
        texts={periods.map((period) => money(found.get(period)?.revenue ?? '0'))}
      />
      <details>
        <summary>Numbers</summary>
        <Table
          label={label}
          rows={rows.slice(-MAX_PERIODS)}
          keyOf={nameOf}
          columns={[
            ['Period (UTC)', nameOf],
            ['Revenue', ({ revenue }) => money(revenue), 'number end'],
            ['Refunded', ({ refunded_total: sum }) => money(sum), 'number'],
            ['purchased', 'number'],
          ]}
        />
      </details>
    </Section>
  )
}

type Compared = 'revenue' | 'refunded_total' | 'purchased'

function nameOf({ day, week, month }: PurchaseTotal): string {
  return day ?? week ?? month ?? ''
}

interface ChangeProps {
  readonly now: string | number
  readonly before: string | number
  readonly format: (value: string | number) => string
}

/** The change from the period before: an arrow, the share, and the value before. */
function Change({ now, before, format }: ChangeProps) {
  const share = Number(before) === 0 ? undefined : Number(now) / Number(before) - 1
  const arrow = Number(now) > Number(before) ? '▲' : Number(now) < Number(before) ? '▼' : '='
  const options = { style: 'percent', maximumFractionDigits: 1 } as const
  return (
    <span class="hint">
      {arrow} {share !== undefined && Math.abs(share).toLocaleString(undefined, options)} from{' '}
      {format(before)}
    </span>
  )
}

interface OtherProps {
  readonly currencies: readonly PurchaseTotal[]
  /** The number of further currencies. */
  readonly more: number
}

/** The revenue in the currencies without a chart. */
export function OtherCurrencies({ currencies, more }: OtherProps) {
  const money = (field: 'revenue' | 'refunded_total') => (row: PurchaseTotal) =>
    formatMoney(row[field], row.currency)
  return (
    <Section title="Revenue in other currencies">
      <Table
        label="Revenue in other currencies"
        rows={currencies}
        keyOf={({ currency }) => currency}
        columns={[
          'currency',
          ['Revenue', money('revenue'), 'number end'],
          ['Refunded', money('refunded_total'), 'number'],
        ]}
      />
      {more > 0 && <p>And {formatCount(more)} more.</p>}
    </Section>
  )
}
