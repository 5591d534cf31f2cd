import { useState } from 'preact/hooks'
import type { Page as ListPage, Purchase, PurchaseQuery, Store } from '../../client/manage.ts'
import { PURCHASE_FIELDS, PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import type { PageRequest } from '../data.ts'
import { formatCount, priceOf } from '../format.ts'
import { downloadCsv } from '../parts/download.ts'
import { allOr } from '../parts/fields.tsx'
import { ActionButton, Filters } from '../parts/form.tsx'
import { Page, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { currentPlace, goTo, linkTo, usePlace } from '../place.ts'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { PurchasePage } from './purchase.tsx'

export function PurchasesPage() {
  const { id } = usePlace()
  return (
    <WithStore title="Purchases">
      {(store) =>
        id ? (
          <PurchasePage {...{ store, id }} />
        ) : (
          <Page title="Purchases" lead={`Of the store ${store.store_id}, newest import first`}>
            <PurchaseList store={store} />
          </Page>
        )
      }
    </WithStore>
  )
}

const SEARCH = { label: 'Transaction or user id', name: 'q', kind: 'search' } as const
const FILTERS = [
  { label: 'SKU', name: 'sku', kind: 'search', width: 16 },
  { label: 'Status', name: 'status', options: allOr(PURCHASE_STATUSES) },
  { label: 'From (UTC)', name: 'from', kind: 'date' },
  { label: 'Before (UTC)', name: 'to', kind: 'date' },
] as const
const IMPORT = { label: 'Import', name: 'import_id', kind: 'search', width: 34 } as const

/** The most rows of an export. The CLI exports all. */
const MOST = 100_000

/** The purchases of a store, or of one player in it. The URL has the filters. */
export function PurchaseList({ store, user_id }: { store: Store; user_id?: string }) {
  const client = useClient()
  const { store_id } = store
  const { query } = usePlace()
  const byImport = query.import_id ? [IMPORT] : [] // from the list of imports
  const fields = user_id ? FILTERS : [SEARCH, ...FILTERS, ...byImport]
  const given = fields.flatMap(({ name }) => (query[name] ? [[name, query[name]] as const] : []))
  const { q, ...filter } = Object.fromEntries(given)
  const selection = { store_id, ...(user_id && { user_id }), ...filter } as PurchaseQuery

  const load = async (page: PageRequest, options: { signal?: AbortSignal }) => {
    const list = (query: PurchaseQuery) =>
      client.purchases.list({ ...query, newest_first: true, ...page }, options)
    if (!q) return list(selection)
    // All stores have a purchase with this id at most once, so this is no second page.
    const { store_id: _, ...everywhere } = selection
    const found = page.cursor ? [] : (await list({ ...everywhere, transaction_id: q })).purchases
    return found.length > 0 ? { purchases: found } : list({ ...selection, user_id: q })
  }
  return (
    <>
      <Filters
        fields={fields}
        values={Object.fromEntries(given)}
        onChange={(values) => {
          const { page, id } = currentPlace()
          goTo(linkTo(page, id, values), true)
        }}
      />
      <List
        label="Purchases"
        load={load}
        of="purchases"
        inputs={[selection, q]}
        keyOf={({ store_id, transaction_id }) => `${store_id} ${transaction_id}`}
        columns={[
          [
            'Purchase',
            ({ transaction_id: id, store_id: store }) => (
              <a href={linkTo('purchases', id, { store })}>{id}</a>
            ),
          ],
          'status',
          ...(q ? (['store_id'] as const) : []),
          'sku',
          ...(user_id ? [] : ([['Player', playerOf]] as const)),
          ['Time', ({ purchased_at }) => <Time at={purchased_at} />],
          ['Price', priceOf, 'number end'],
        ]}
        empty={
          given.length > 0
            ? ['No purchase matches', 'Clear a filter to see more. Ids must match exactly.']
            : [
                'There are no purchases',
                'Purchases come from an imported file, or from your server.',
                <a key="next" class="button" href={linkTo('import')}>
                  Import a file
                </a>,
              ]
        }
      />
      <Export load={load} name={`${user_id ?? store_id}-purchases.csv`} />
    </>
  )
}

function playerOf({ user_id, store_id: store }: Purchase) {
  return user_id ? <a href={linkTo('player', user_id, { store })}>{user_id}</a> : '–'
}

interface ExportProps {
  readonly load: (page: PageRequest, options: object) => Promise<ListPage<'purchases', Purchase>>
  readonly name: string
}

/** Saves all purchases that match the filters. */
function Export({ load, name }: ExportProps) {
  const [count, setCount] = useState<number>()
  const save = async () => {
    const rows: Purchase[] = []
    let cursor: string | undefined
    do {
      const page = await load({ limit: 1000, ...(cursor && { cursor }) }, {})
      rows.push(...page.purchases)
      setCount(rows.length)
      cursor = page.next
    } while (cursor && rows.length < MOST)
    downloadCsv(name, ['store_id', 'import_id', ...PURCHASE_FIELDS], rows)
  }
  return (
    <div class="actions">
      <ActionButton act={save}>Export as CSV</ActionButton>
      {count !== undefined && (
        <span role="status" class="muted">
          {formatCount(count)} rows{count >= MOST && ': the CLI exports all'}
        </span>
      )}
    </div>
  )
}
