import type { PurchaseTotal } from '../../client/manage.ts'
import { digitsOf, formatCount, formatMoney, formatPeriod } from '../format.ts'
import { Columns } from '../parts/columns.tsx'
import { Facts, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { MAX_PERIODS } from './periods.ts'

interface RevenueProps {
  readonly currency: string
  readonly periods: readonly string[]
  /** The totals of this currency. */
  readonly rows: readonly PurchaseTotal[]
}

/** The revenue of each period in one currency. */
export function Revenue({ currency, periods, rows }: RevenueProps) {
  const found = new Map(rows.map((row) => [row.day ?? row.week ?? row.month, row]))
  const total = (field: Amount) => totalOf(rows, field)
  const money = (minor: string) => formatMoney(minor, currency)
  const major = (minor = '0') => Number(minor) / 10 ** digitsOf(currency)
  const short = new Intl.NumberFormat(undefined, {
    ...{ style: 'currency', currency, notation: 'compact', maximumSignificantDigits: 3 },
  })
  const label = `Revenue in ${currency}`
  return (
    <Section title={label}>
      <Facts
        facts={[
          [
            'Revenue',
            <span key="revenue" class="figure">
              {money(total('revenue'))}
            </span>,
          ],
          [
            'Refunded',
            <span key="refunded" class="figure">
              {money(total('refunded_total'))}
            </span>,
          ],
        ]}
      />
      <Columns
        label={`${label}: ${money(total('revenue'))} in ${periods.length} periods`}
        names={periods.map(formatPeriod)}
        values={periods.map((period) => major(found.get(period)?.revenue))}
        format={(value) => short.format(value)}
      />
      <details>
        <summary>Numbers</summary>
        <Table
          label={label}
          rows={rows.slice(-MAX_PERIODS)}
          keyOf={(row) => row.day ?? row.week ?? row.month ?? ''}
          columns={[
            { label: 'Period (UTC)', cell: (row) => row.day ?? row.week ?? row.month },
            { label: 'Revenue', cell: ({ revenue }) => money(revenue), isNumber: true },
            { label: 'Refunded', cell: ({ refunded_total: sum }) => money(sum), isNumber: true },
            {
              ...{ label: 'Purchases', isNumber: true },
              cell: ({ purchased }) => formatCount(purchased),
            },
          ]}
        />
      </details>
    </Section>
  )
}

type Amount = 'revenue' | 'refunded_total'

function totalOf(rows: readonly PurchaseTotal[], field: Amount): string {
  return String(rows.reduce((sum, row) => sum + BigInt(row[field]), 0n))
}

interface OtherProps {
  readonly currencies: readonly PurchaseTotal[]
  /** The number of further currencies. */
  readonly more: number
}

/** The revenue in the currencies without a chart. */
export function OtherCurrencies({ currencies, more }: OtherProps) {
  const money = (field: Amount) => (row: PurchaseTotal) => formatMoney(row[field], row.currency)
  return (
    <Section title="Revenue in other currencies">
      <Table
        label="Revenue in other currencies"
        rows={currencies}
        keyOf={({ currency }) => currency}
        columns={[
          { label: 'Currency', cell: ({ currency }) => currency },
          { label: 'Revenue', cell: money('revenue'), isNumber: true },
          { label: 'Refunded', cell: money('refunded_total'), isNumber: true },
        ]}
      />
      {more > 0 && <p>And {formatCount(more)} more.</p>}
    </Section>
  )
}
