import type { PurchaseOverview, PurchaseTotal, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Filters } from '../parts/form.tsx'
import { Await, Empty, Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'
import { OtherCurrencies, periodOf, Revenue } from './overview-revenue.tsx'
import { BestSellers, Buyers, Statuses } from './overview-shares.tsx'
import { dayOf, periodsBetween, RANGES, type Span, spanOf } from './periods.ts'

/** On a busy server, the totals of 10 million purchases take some seconds. */
const TIMEOUT = 60_000

const PERIOD = {
  label: 'Period',
  name: 'range',
  options: RANGES.map(({ name, label }) => [name, label] as const),
}
const DAYS = [
  { label: 'First day (UTC)', name: 'from', kind: 'date' },
  { label: 'Last day (UTC)', name: 'to', kind: 'date' },
] as const

export function Overview({ store: { store_id, is_sandbox } }: { readonly store: Store }) {
  const span = spanOf(usePlace().query, Date.now())
  const { name, from = '', to } = span
  const last = to ? dayOf(Date.parse(to) - 1) : ''
  const loaded = useLoad(
    async (signal) => {
      const { by, from, to, before } = span
      const options = { signal, timeout: TIMEOUT }
      const read = (days: object) => client.purchases.overview({ store_id, by, ...days }, options)
      const [figures, earlier] = await Promise.all([
        read({ ...(from && { from }), ...(to && { to }) }),
        before && read(before),
      ])
      return { ...figures, earlier: earlier?.currencies, store_id, span }
    },
    [store_id, JSON.stringify(span)],
  )
  return (
    <Page
      title="Overview"
      actions={
        <Filters
          fields={name === 'custom' ? [PERIOD, ...DAYS] : [PERIOD]}
          values={{ range: name, from, to: last }}
        />
      }
    >
      {is_sandbox && <Notice title="This store is a sandbox: its figures are of test purchases" />}
      <Await loaded={loaded}>{Figures}</Await>
    </Page>
  )
}

interface FiguresProps extends PurchaseOverview {
  /** The totals of the period before, by currency. */
  readonly earlier: readonly PurchaseTotal[] | undefined
  readonly store_id: string
  readonly span: Span
}

/** The most currencies with a chart. Anybody who records purchases can name more. */
const CHARTS = 4

function Figures({ earlier, store_id, span, ...figures }: FiguresProps) {
  const { from, to, by } = span
  const [oldest] = figures.periods
  if (!oldest) {
    return (
      <Empty title={from ? 'No purchases in this period' : 'This store has no purchases yet'}>
        <p>Import the purchases of the past, or choose another period.</p>
        <a class="button primary" href={linkTo('import')}>
          Import a file
        </a>
      </Empty>
    )
  }
  const now = Date.now()
  const end = to ? Date.parse(to) - 1 : now
  const periods = periodsBetween(Date.parse(from ?? periodOf(oldest)), end, by)
  const currencies = figures.currencies.filter(({ currency }) => currency !== '')
  const others = currencies.slice(CHARTS)
  return (
    <div class="columns">
      {currencies.slice(0, CHARTS).map((total) => {
        const rows = figures.periods.filter(({ currency }) => currency === total.currency)
        return (
          <Revenue
            key={total.currency}
            total={total}
            earlier={earlier}
            periods={periods}
            rows={rows}
          />
        )
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
        {end >= now && <Buyers store_id={store_id} from={from} />}
      </div>
    </div>
  )
}
