import type { PurchaseTotal, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Field as SelectField } from '../parts/fields.tsx'
import { Empty, Failure, Loading } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { Buyers } from './overview-buyers.tsx'
import { OtherCurrencies, Revenue } from './overview-revenue.tsx'
import { BestSellers, Statuses } from './overview-shares.tsx'
import { nameOf, periodsBetween, RANGES, startOf } from './periods.ts'

/** The totals of 10 million purchases take some 10 seconds. */
const TIMEOUT = 60_000

export function Overview() {
  const { query } = usePlace()
  const range = RANGES.find(({ name }) => name === query.range) ?? RANGES[2]
  return (
    <Page
      title="Overview"
      actions={
        <SelectField
          label="Period"
          name="range"
          value={range.name}
          onChange={(range) => goTo(linkTo('overview', '', { range }), true)}
          options={RANGES.map(({ name, label }) => [name, label])}
        />
      }
    >
      <WithStore>{(store) => <Figures {...{ store, range }} />}</WithStore>
    </Page>
  )
}

interface FiguresProps {
  readonly store: Store
  readonly range: (typeof RANGES)[number]
}

function Figures({ store: { store_id }, range }: FiguresProps) {
  const client = useClient()
  const { by } = range
  const { value, error, isLoading, reload } = useLoad(
    async (signal) => {
      const from = startOf(range, Date.now())
      const query = { store_id, by, ...(from && { from }) }
      const figures = await client.purchases.overview(query, { signal, timeout: TIMEOUT })
      return { figures, from, store_id, by }
    },
    [store_id, range.name],
  )
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (!value || value.store_id !== store_id) return <Loading what="Adding up the purchases" />
  const { figures, from } = value
  if (figures.currency_count === 0) return <NoPurchases isAllTime={from === undefined} />
  const first = from ?? periodOf(figures.periods[0] as PurchaseTotal)
  const periods = periodsBetween(first, nameOf(Date.now(), value.by), value.by)
  const currencies = figures.currencies.filter(({ currency }) => currency !== '')
  const others = currencies.slice(CHARTS)
  return (
    <div class={isLoading ? 'columns stale' : 'columns'} aria-busy={isLoading}>
      {currencies.slice(0, CHARTS).map(({ currency }) => {
        const rows = figures.periods.filter((row) => row.currency === currency)
        return <Revenue key={currency} {...{ currency, periods, rows }} />
      })}
      {others.length > 0 && (
        <OtherCurrencies
          currencies={others}
          more={figures.currency_count - figures.currencies.length}
        />
      )}
      <div class="loaded">
        <Statuses figures={figures} />
        <Buyers {...{ store_id, from }} />
      </div>
      <BestSellers rows={figures.items} />
    </div>
  )
}

/** The most currencies with a chart. Anybody who records purchases can name more. */
const CHARTS = 4

function periodOf({ day, week, month }: PurchaseTotal): string {
  return day ?? week ?? month ?? ''
}

function NoPurchases({ isAllTime }: { readonly isAllTime: boolean }) {
  return (
    <Empty title={isAllTime ? 'This store has no purchases yet' : 'No purchases in this period'}>
      <p>Import the purchases of the past, or choose another period.</p>
      <a class="button primary" href={linkTo('import')}>
        Import a file
      </a>
    </Empty>
  )
}
