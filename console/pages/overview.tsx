import type { PurchaseTotal, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Filters } from '../parts/form.tsx'
import { Empty, Failure, Loading, Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { OtherCurrencies, Revenue } from './overview-revenue.tsx'
import { BestSellers, Buyers, Statuses } from './overview-shares.tsx'
import { dayOf, nameOf, periodsBetween, RANGES, type Span, spanOf } from './periods.ts'

/** On a busy server, the totals of 10 million purchases take some seconds. */
const TIMEOUT = 60_000

const PERIOD = {
  ...{ label: 'Period', name: 'range' },
  options: RANGES.map(({ name, label }) => [name, label] as const),
}
const DAYS = [
  { label: 'First day (UTC)', name: 'from', kind: 'date' },
  { label: 'Last day (UTC)', name: 'to', kind: 'date' },
] as const

export function Overview() {
  const { query } = usePlace()
  const span = spanOf(query, Date.now())
  const { name, from = '', to } = span
  const last = to ? dayOf(Date.parse(to) - 1) : ''
  return (
    <Page
      title="Overview"
      actions={
        <Filters
          fields={name === 'custom' ? [PERIOD, ...DAYS] : [PERIOD]}
          values={{ range: name, from, to: last }}
          onChange={({ range, from, to }) => {
            const days = range === 'custom' ? { from, to } : { from: '', to: '' }
            goTo(linkTo('overview', '', { range, ...days }), true)
          }}
        />
      }
    >
      <WithStore>
        {(store) => (
          <>
            {store.is_sandbox && (
              <Notice title="This store is a sandbox: its figures are of test purchases" />
            )}
            <Figures {...{ store, span }} />
          </>
        )}
      </WithStore>
    </Page>
  )
}

function Figures({ store: { store_id }, span }: { readonly store: Store; readonly span: Span }) {
  const { purchases } = useClient()
  const loaded = useLoad(
    async (signal) => {
      const { by, from, to, before } = span
      const options = { signal, timeout: TIMEOUT }
      const read = (days: object) => purchases.overview({ store_id, by, ...days }, options)
      const [shown, earlier] = await Promise.all([
        read({ ...(from && { from }), ...(to && { to }) }),
        before && read(before),
      ])
      return { figures: shown, earlier: earlier?.currencies, store_id, span }
    },
    [store_id, JSON.stringify(span)],
  )
  const { value, error, isLoading, reload } = loaded
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (!value || value.store_id !== store_id) return <Loading what="Adding up the purchases" />
  const { figures, earlier } = value
  const { from, to, by } = value.span
  if (figures.currency_count === 0) return <NoPurchases isAllTime={from === undefined} />
  const first = from ?? periodOf(figures.periods[0] as PurchaseTotal)
  const end = to ? Date.parse(to) - 1 : Date.now()
  const periods = periodsBetween(nameOf(Date.parse(first), by), nameOf(end, by), by)
  const currencies = figures.currencies.filter(({ currency }) => currency !== '')
  const others = currencies.slice(CHARTS)
  return (
    <div class={isLoading ? 'columns stale' : 'columns'} aria-busy={isLoading}>
      {currencies.slice(0, CHARTS).map((total) => {
        const { currency } = total
        const rows = figures.periods.filter((row) => row.currency === currency)
        const before = earlier?.find((each) => each.currency === currency)
        const isCompared = earlier !== undefined
        return <Revenue key={currency} {...{ total, before, isCompared, periods, rows }} />
      })}
      {others.length > 0 && (
        <OtherCurrencies
          currencies={others}
          more={figures.currency_count - figures.currencies.length}
        />
      )}
      <BestSellers rows={figures.items} />
      <div class="loaded">
        <Statuses figures={figures} />
        {/* The server counts buyers up to now only. */}
        {end >= Date.now() && <Buyers {...{ store_id, from }} />}
      </div>
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
