import type { ItemTotal, Store, StoreTotal } from '../../client/manage.ts'
import { type Signal, useLoad } from '../data.ts'
import { formatMoney, formatMonth, formatPeriod } from '../format.ts'
import { Filters } from '../parts/form.tsx'
import { Await, Empty, Notice } from '../parts/notice.tsx'
import { type Column, Page, Section, Text } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'
import { Chart } from './overview-chart.tsx'
import { Buyers, Currencies, Sold, Statuses, Totals } from './overview-tables.tsx'
import { dayOf, periodsBetween, queryOfMonth, RANGES, type Span, spanOf } from './periods.ts'

/** On a busy server, the totals of 10 million purchases take some seconds. */
const TIMEOUT = 60_000

const PERIOD = { label: 'Period', name: 'range', options: RANGES }
const DAYS = [
  { label: 'First day (UTC)', name: 'from', kind: 'date' },
  { label: 'Last day (UTC)', name: 'to', kind: 'date' },
] as const

/** The sales of a store, or with `all` in the URL of all live stores of the account. */
export function Overview({ store }: { readonly store: Store }) {
  const { store_id, is_sandbox } = store
  const { query } = usePlace()
  const { stores = [] } = useScope().value ?? {}
  const { all, currency } = query
  const span = spanOf(query, Date.now())
  const { name, from = '', to } = span
  const last = to ? dayOf(Date.parse(to) - 1) : ''
  const own = ownCurrency(all ? stores.filter((each) => !each.is_sandbox) : [store])
  const loaded = useLoad(loadFigures, [all ? undefined : store_id, span, currency, own])
  return (
    <Page
      title="Overview"
      lead="Days, weeks and months are in UTC."
      actions={
        <Filters
          fields={name === 'custom' ? [PERIOD, ...DAYS] : [PERIOD]}
          values={{ ...query, range: name, from, to: last }}
        />
      }
    >
      {is_sandbox && !all && (
        <Notice title="This store is a sandbox: its figures are of test purchases" />
      )}
      <Await loaded={loaded}>{Figures}</Await>
    </Page>
  )
}

/** The currency that all stores have. */
function ownCurrency(stores: readonly Store[]): string | undefined {
  const [currency, ...others] = new Set(stores.map((each) => each.store_config.currency))
  return others.length === 0 && typeof currency === 'string' ? currency : undefined
}

type FiguresQuery = readonly [
  store: string | undefined,
  span: Span,
  chosen: string | undefined,
  own: string | undefined,
]

/**
 * Loads the figures of a span, and the totals of the days before. Without a chosen currency, shows the
 * `own` one, or the one with the most purchases if nothing was sold in that. If the span has no
 * purchases, finds the latest month that has some.
 */
async function loadFigures([store_id, span, chosen, own]: FiguresQuery, { signal }: Signal) {
  const { by, from, to, before } = span
  const read = (query: object) =>
    client.purchases.overview({ store_id, ...query }, { signal, timeout: TIMEOUT })
  const preferred = chosen ?? own
  const [first, compared] = await Promise.all([
    read({ by, from, to, currency: preferred }),
    before && read({ from: before.from, to: before.to }),
  ])
  const priced = first.currencies.flatMap(({ currency }) => currency || [])
  const isSold = preferred === undefined || preferred === chosen || priced.includes(preferred)
  const figures = isSold ? first : await read({ by, from, to })
  const isEmpty = figures.currency_count === 0
  const months = isEmpty && from ? (await read({})).periods : []
  return {
    figures,
    earlier: compared?.currencies ?? [],
    store_id,
    span,
    priced,
    currency: (isSold && preferred) || (priced[0] ?? ''),
    latest: months.at(-1)?.month,
  }
}

function Figures(loaded: Awaited<ReturnType<typeof loadFigures>>) {
  const { figures, earlier, store_id, span, priced, currency, latest } = loaded
  const { query } = usePlace()
  const { from, to, by, before } = span
  if (figures.currency_count === 0) return <NoFigures latest={latest} />
  const rows = figures.periods.filter((row) => row.currency === currency)
  const revenues = new Map(
    rows.map(({ day, week, month, revenue }) => [day ?? week ?? month, revenue]),
  )
  const now = Date.now()
  const end = to ? Date.parse(to) - 1 : now
  const start = from ?? [...revenues.keys()][0] ?? dayOf(now)
  const columns = periodsBetween(Date.parse(start), end, by).map(
    (period) => [period, revenues.get(period) ?? '0'] as const,
  )
  const sold = figures.items.filter(({ purchased }) => purchased > 0)
  const choice = { label: 'Currency', name: 'currency', options: priced }
  return (
    <>
      <Section
        title="Sales"
        actions={priced.length > 1 && <Filters fields={[choice]} values={{ ...query, currency }} />}
      >
        <Totals totals={figures.currencies} earlier={earlier} before={before} currency={currency} />
        <Chart
          label={`Revenue in ${currency} by ${by}`}
          columns={columns}
          isRunning={end >= now}
          currency={currency}
        />
        <Statuses figures={figures} />
        <details>
          <summary>Numbers</summary>
          <Table
            label={`Revenue in ${currency}`}
            rows={columns.toReversed()}
            columns={[
              ['Period (UTC)', ([period]) => formatPeriod(period)],
              ['Revenue', ([, revenue]) => formatMoney(revenue, currency), 'number end'],
            ]}
          />
        </details>
      </Section>
      <div class="columns">
        {store_id === undefined && (
          <Sold title="Stores" rows={figures.stores} name={STORE} currency={currency} />
        )}
        <Sold title="Best sellers" rows={sold.slice(0, SHOWN)} name={ITEM} currency={currency} />
        {/* The server counts buyers up to now only. */}
        {store_id !== undefined && end >= now && <Buyers store_id={store_id} from={from} />}
        <Currencies {...figures} />
      </div>
    </>
  )
}

/** The number of best sellers. */
const SHOWN = 10

const ITEM: Column<ItemTotal> = [
  'Item',
  ({ sku, display_name }) => (
    <Text isName text={display_name} href={linkTo('items', '', { search: sku })} />
  ),
]
const STORE: Column<StoreTotal> = [
  'Store',
  ({ store_id: store }) => (
    <Text text={store} href={linkTo('overview', '', { project: undefined, store })} />
  ),
]

function NoFigures({ latest }: { readonly latest: string | undefined }) {
  return latest ? (
    <Empty
      title="No purchases in this period"
      text={`The latest purchases are of ${formatMonth(Date.parse(latest))}.`}
      next={[
        `Show ${formatMonth(Date.parse(latest))}`,
        linkTo('overview', '', queryOfMonth(latest)),
      ]}
    />
  ) : (
    <Empty
      title="There are no purchases yet"
      text="Purchases come from an imported file, or from your server."
      next={['Import a file', linkTo('import')]}
    />
  )
}
