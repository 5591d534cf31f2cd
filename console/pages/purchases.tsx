import { useState } from 'preact/hooks'
import type { Purchase, PurchaseQuery, PurchaseSummary, Store } from '../../client/manage.ts'
import { PURCHASE_FIELDS, PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { fillPage, type PageRequest, useItemNames } from '../data.ts'
import { formatCount, priceOf } from '../format.ts'
import { downloadCsv } from '../parts/download.ts'
import { allOr } from '../parts/fields.tsx'
import { ActionButton, Filters } from '../parts/form.tsx'
import { type Column, Page, Text } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'

const FILTERS = [
  { label: 'SKU', name: 'sku', kind: 'search', width: 16 },
  { label: 'Status', name: 'status', options: allOr(PURCHASE_STATUSES) },
  { label: 'From (UTC)', name: 'from', kind: 'date' },
  { label: 'Before (UTC)', name: 'to', kind: 'date' },
] as const
const IMPORT = { label: 'Import', name: 'import_id', kind: 'search', width: 34 } as const

/** The purchases of a store. */
export function Purchases({ store: { store_id } }: { readonly store: Store }) {
  const { query } = usePlace()
  const byImport = query.import_id ? [IMPORT] : [] // from the list of imports
  const fields = [...FILTERS, ...byImport]
  const filter = Object.fromEntries(fields.map(({ name }) => [name, query[name] || undefined]))
  const selection = { store_id, newest_first: true, ...filter }
  return (
    <Page
      title="Purchases"
      lead="Newest import first"
      actions={<Export selection={selection} name={`${store_id}-purchases.csv`} />}
    >
      <Filters fields={fields} />
      <List
        label="Purchases"
        list={client.purchases.list}
        query={selection}
        columns={purchaseColumns(useItemNames(store_id), 'store_id')}
        empty={[
          'There are no purchases',
          'Purchases come from an imported file, or from your server.',
          ['Import a file', linkTo('import')],
        ]}
      />
    </Page>
  )
}

/** The columns of purchases, without a field that is the same in all of them. */
export function purchaseColumns(
  names: ReadonlyMap<string, string>,
  without?: 'store_id' | 'Player',
): Column<Purchase>[] {
  const nameOf = ({ sku }: Purchase) => names.get(sku) ?? sku
  const columns: Column<Purchase>[] = [
    ['Item', (each) => <Text isName text={nameOf(each)} href={hrefOf(each)} />],
    ['Price', priceOf, 'number end'],
    'status',
    'purchased_at',
    ['store_id', 'hidden'],
    ['Player', playerOf, 'hidden'],
    ['Id', (each) => <Text text={each.transaction_id} href={hrefOf(each)} />, 'hidden'],
  ]
  return columns.filter(([label]) => label !== without)
}

function hrefOf({ transaction_id, store_id: store }: Purchase): string {
  return linkTo('purchases', transaction_id, { store })
}

/** The link to the player of a purchase. */
export function playerOf({ user_id, store_id: store }: Purchase) {
  return user_id ? <Text text={user_id} href={linkTo('player', user_id, { store })} /> : '–'
}

/** The number of purchases of all statuses. */
export function countOf(totals: readonly PurchaseSummary[]): number {
  const counts = totals.flatMap((total) => PURCHASE_STATUSES.map((status) => total[status]))
  return counts.reduce((sum, count) => sum + count, 0)
}

/** The most rows in the memory of the browser: as a file, some 40 MB. */
const MOST = 200_000

/** Saves all purchases that match the filters. Says before it starts if they are too many. */
function Export({ selection, name }: { readonly selection: PurchaseQuery; readonly name: string }) {
  const [read, setRead] = useState(0)
  const list = async (page: PageRequest) => {
    const found = await client.purchases.list({ ...selection, ...page })
    setRead((read) => read + found.purchases.length)
    return found
  }
  const save = async () => {
    setRead(0)
    const { store_id, newest_first: _, ...filter } = selection
    const { summaries } = await client.purchases.summarize({ store_id, ...filter, by: ['store'] })
    const all = countOf(summaries)
    const refusal = `These are ${formatCount(all, 'purchase')}, and a browser saves ${formatCount(MOST)} at most. Choose a period, or use tillkit purchases export.`
    if (all > MOST) throw new Error(refusal)
    const { rows } = await fillPage(list, undefined, MOST, Number.POSITIVE_INFINITY)
    downloadCsv(name, ['store_id', 'import_id', ...PURCHASE_FIELDS], rows)
  }
  return (
    <>
      {read > 0 && (
        <span role="status" class="muted">
          {formatCount(read, 'row')}
        </span>
      )}
      <ActionButton label="Export as CSV" act={save} />
    </>
  )
}
