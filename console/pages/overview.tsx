import type { PurchaseSummary, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { SelectField } from '../parts/fields.tsx'
import { Empty, Failure, Loading } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { Buyers } from './overview-buyers.tsx'
import { Revenue } from './overview-revenue.tsx'
import { BestSellers, Statuses } from './overview-shares.tsx'
import { nameOf, periodsBetween, RANGES, startOf } from './periods.ts'

/** A summary of 10 million purchases takes a minute. */
const TIMEOUT = 600_000

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
      <WithStore>{(store) => <Summaries {...{ store, range }} />}</WithStore>
    </Page>
  )
}

interface SummariesProps {
  readonly store: Store
  readonly range: (typeof RANGES)[number]
}

function Summaries({ store: { store_id }, range }: SummariesProps) {
  const client = useClient()
  const { by } = range
  const loaded = useLoad(
    async (signal) => {
      const from = startOf(range, Date.now())
      const options = { signal, timeout: TIMEOUT }
      const query = { store_id, ...(from && { from }) }
      const [byPeriod, bySku] = await Promise.all([
        client.purchases.summarize({ ...query, by: [by, 'currency'] }, options),
        client.purchases.summarize({ ...query, by: ['sku'], top: 100 }, options),
      ])
      return { byPeriod: byPeriod.summaries, bySku: bySku.summaries, from, store_id, by }
    },
    [store_id, range.name],
  )
  const { value, error, isLoading, reload } = loaded
  if (error !== undefined) return <Failure error={error} onRetry={reload} />
  if (!value || value.store_id !== store_id) return <Loading what="Adding up the purchases" />
  const { byPeriod, bySku, from } = value
  if (byPeriod.length === 0) return <NoPurchases isAllTime={from === undefined} />
  const first = from ?? periodOf(byPeriod[0] as PurchaseSummary)
  const periods = periodsBetween(first, nameOf(Date.now(), value.by), value.by)
  const currencies = [...new Set(byPeriod.map(({ currency }) => currency))].filter(Boolean)
  return (
    <div class={isLoading ? 'columns stale' : 'columns'} aria-busy={isLoading}>
      {currencies.map((currency) => (
        <Revenue
          key={currency}
          {...{ currency, periods }}
          rows={byPeriod.filter((row) => row.currency === currency)}
        />
      ))}
      <div class="loaded">
        <Statuses rows={byPeriod} />
        <Buyers {...{ store_id, from, timeout: TIMEOUT }} />
      </div>
      <BestSellers rows={bySku} />
    </div>
  )
}

export function periodOf({ day, week, month }: PurchaseSummary): string {
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
