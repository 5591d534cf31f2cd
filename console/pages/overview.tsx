import type { PurchaseSummary, Store } from '../../client/manage.ts'
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
  const currencies = byCurrency(byPeriod)
  return (
    <div class={isLoading ? 'columns stale' : 'columns'} aria-busy={isLoading}>
      {currencies.slice(0, CHARTS).map(([currency, rows]) => (
        <Revenue key={currency} {...{ currency, periods, rows }} />
      ))}
      {currencies.length > CHARTS && <OtherCurrencies currencies={currencies.slice(CHARTS)} />}
      <div class="loaded">
        <Statuses rows={byPeriod} />
        <Buyers {...{ store_id, from, timeout: TIMEOUT }} />
      </div>
      <BestSellers rows={bySku} />
    </div>
  )
}

/** The most currencies with a chart. Anybody who records purchases can name more. */
const CHARTS = 4

/** The summaries of each currency, the one with the most purchases first. */
function byCurrency(rows: readonly PurchaseSummary[]): [string, PurchaseSummary[]][] {
  const found = new Map<string, PurchaseSummary[]>()
  for (const row of rows) {
    const { currency } = row
    if (!currency) continue
    const others = found.get(currency)
    if (others) others.push(row)
    else found.set(currency, [row])
  }
  const count = (rows: readonly PurchaseSummary[]) =>
    rows.reduce((sum, { purchased }) => sum + purchased, 0)
  return [...found].sort(([, a], [, b]) => count(b) - count(a))
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
