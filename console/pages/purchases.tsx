import { useState } from 'preact/hooks'
import type { Page as ListPage, Purchase, PurchaseQuery, Store } from '../../client/manage.ts'
import { PURCHASE_FIELDS, PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { formatCount, priceOf } from '../format.ts'
import { downloadCsv } from '../parts/download.ts'
import { allOr } from '../parts/fields.tsx'
import { ActionButton, Filters } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'

export function Purchases({ store }: { readonly store: Store }) {
  return (
    <Page title="Purchases" lead={`Of the store ${store.store_id}, newest import first`}>
      <PurchaseList store={store} />
    </Page>
  )
}

const FILTERS = [
  { label: 'SKU', name: 'sku', kind: 'search', width: 16 },
  { label: 'Status', name: 'status', options: allOr(PURCHASE_STATUSES) },
  { label: 'From (UTC)', name: 'from', kind: 'date' },
  { label: 'Before (UTC)', name: 'to', kind: 'date' },
] as const
const IMPORT = { label: 'Import', name: 'import_id', kind: 'search', width: 34 } as const

/** The purchases of a store. */
function PurchaseList({ store: { store_id } }: { readonly store: Store }) {
  const { query } = usePlace()
  const byImport = query.import_id ? [IMPORT] : [] // from the list of imports
  const fields = [...FILTERS, ...byImport]
  const given = fields.flatMap(({ name }) => (query[name] ? [[name, query[name]]] : []))
  const filter = Object.fromEntries(given)
  const selection = { store_id, newest_first: true, ...filter }
  return (
    <>
      <Filters fields={fields} />
      <List
        label="Purchases"
        list={client.purchases.list}
        query={selection}
        columns={[
          ['Purchase', purchaseOf],
          'status',
          'sku',
          ['Player', playerOf],
          'purchased_at',
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
      <Export selection={selection} name={`${store_id}-purchases.csv`} />
    </>
  )
}

/** The link to a purchase. */
export function purchaseOf({ transaction_id: id, store_id: store }: Purchase) {
  return <a href={linkTo('purchases', id, { store })}>{id}</a>
}

/** The link to the player of a purchase. */
export function playerOf({ user_id, store_id: store }: Purchase) {
  return user_id ? <a href={linkTo('player', user_id, { store })}>{user_id}</a> : '–'
}

/** The most rows in the memory of the browser: as a file, some 40 MB. */
const MOST = 200_000

/** Saves all purchases that match the filters. Says before it starts if they are too many. */
function Export({ selection, name }: { readonly selection: PurchaseQuery; readonly name: string }) {
  const [count, setCount] = useState<number>()
  const save = async () => {
    const { store_id, newest_first: _, ...filter } = selection
    const { summaries } = await client.purchases.summarize({ store_id, ...filter, by: ['store'] })
    const all = summaries.reduce(
      (sum, { purchased, pending, refunded, cancelled }) =>
        sum + purchased + pending + refunded + cancelled,
      0,
    )
    const refusal = `These are ${formatCount(all)} purchases, and a browser saves ${formatCount(MOST)} at most. Choose a period, or use tillkit purchases export.`
    if (all > MOST) throw new Error(refusal)
    const rows: Purchase[] = []
    let cursor: string | undefined
    do {
      const page: ListPage<'purchases', Purchase> = await client.purchases.list({
        ...selection,
        limit: 1000,
        ...(cursor && { cursor }),
      })
      rows.push(...page.purchases)
      setCount(rows.length)
      cursor = page.next
    } while (cursor)
    downloadCsv(name, ['store_id', 'import_id', ...PURCHASE_FIELDS], rows)
  }
  return (
    <div class="actions">
      <ActionButton act={save}>Export as CSV</ActionButton>
      {count !== undefined && (
        <span role="status" class="muted">
          {formatCount(count)} rows
        </span>
      )}
    </div>
  )
}
