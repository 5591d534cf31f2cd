import type { PurchaseTotal } from '../../client/manage.ts'
import { formatCount, formatMoney, formatPeriod, formatShare } from '../format.ts'
import { type Column, Facts, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { MAX_PERIODS } from './periods.ts'

/** The period of a total, such as `2026-01`. */
export function periodOf({ day, week, month }: PurchaseTotal): string {
  return day ?? week ?? month ?? ''
}

interface RevenueProps {
  /** The total of one currency. */
  readonly total: PurchaseTotal
  /** The totals of the period before; undefined if there is none. */
  readonly earlier: readonly PurchaseTotal[] | undefined
  readonly periods: readonly string[]
  readonly rows: readonly PurchaseTotal[]
}

type Format = (value: string | number) => string

/** The revenue of each period in one currency. */
export function Revenue({ total, earlier, periods, rows }: RevenueProps) {
  const { currency } = total
  const before = earlier?.find((each) => each.currency === currency)
  const money: Format = (minor) => formatMoney(minor, currency)
  const label = `Revenue in ${currency}`
  const figure = (name: 'revenue' | 'refunded_total' | 'purchased', format: Format = money) => (
    <>
      <span class="figure">{format(total[name])}</span>{' '}
      {earlier && changeOf(total[name], before?.[name] ?? 0, format)}
    </>
  )
  return (
    <Section title={label}>
      <Facts
        of={total}
        fields={[
          ['Revenue', () => figure('revenue')],
          ['Refunded', () => figure('refunded_total')],
          ['Purchases', () => figure('purchased', (count) => formatCount(Number(count)))],
        ]}
      />
      <Chart
        label={`${label}: ${money(total.revenue)}`}
        periods={periods}
        rows={rows}
        money={money}
      />
      <details>
        <summary>Numbers</summary>
        <Table
          label={label}
          rows={rows.slice(-MAX_PERIODS)}
          columns={[['Period (UTC)', periodOf], ...AMOUNTS, ['purchased', 'number']]}
        />
      </details>
    </Section>
  )
}

/** The change from the period before: an arrow, the share, and the value before. */
function changeOf(now: string | number, before: string | number, format: Format) {
  const change = Number(now) - Number(before)
  const arrow = change > 0 ? '▲' : change < 0 ? '▼' : '='
  const share = Number(before) > 0 && formatShare(Math.abs(change) / Number(before))
  return (
    <span class="hint">
      {arrow} {share} from {format(before)}
    </span>
  )
}

interface ChartProps extends Pick<RevenueProps, 'periods' | 'rows'> {
  /** The sum, for screen readers. The numbers are in a table below the chart. */
  readonly label: string
  readonly money: Format
}

/** The most names of periods below the columns. */
const MOST_NAMES = 6

/** A column for each period. The highest revenue stands above its column. */
function Chart({ label, periods, rows, money }: ChartProps) {
  const revenues = new Map(rows.map((row) => [periodOf(row), row.revenue]))
  const highest = Math.max(...periods.map((period) => Number(revenues.get(period) ?? 0)))
  const step = Math.ceil(periods.length / MOST_NAMES)
  return (
    <div class="plot" role="img" aria-label={`${label} in ${periods.length} periods`}>
      {periods.map((period, index) => {
        const revenue = revenues.get(period) ?? '0'
        const name = formatPeriod(period)
        const text = money(revenue)
        const isHighest = highest > 0 && Number(revenue) === highest
        return (
          <div key={period} class="column" title={`${name}: ${text}`}>
            {isHighest && (
              <span class={index < periods.length / 2 ? 'value' : 'value left'}>{text}</span>
            )}
            <div class="bar" style={{ height: `${(100 * Number(revenue)) / (highest || 1)}%` }} />
            <span class="name">{index % step === 0 && name}</span>
          </div>
        )
      })}
    </div>
  )
}

const AMOUNTS = [
  ['Revenue', ({ revenue, currency }) => formatMoney(revenue, currency), 'number end'],
  ['Refunded', ({ refunded_total: sum, currency }) => formatMoney(sum, currency), 'number'],
] as const satisfies readonly Column<PurchaseTotal>[]

type OtherProps = { readonly currencies: readonly PurchaseTotal[]; readonly more: number }

/** The revenue in the currencies without a chart, and the number of further currencies. */
export function OtherCurrencies({ currencies, more }: OtherProps) {
  const title = 'Revenue in other currencies'
  return (
    <Section title={title}>
      <Table label={title} rows={currencies} columns={['currency', ...AMOUNTS]} />
      {more > 0 && <p>And {formatCount(more)} more.</p>}
    </Section>
  )
}
