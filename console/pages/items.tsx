import { useState } from 'preact/hooks'
import type { Store } from '../../client/manage.ts'
import { usePages } from '../data.ts'
import { formatMoney } from '../format.ts'
import { SearchField, SelectField } from '../parts/fields.tsx'
import { Empty } from '../parts/notice.tsx'
import { Badge, Page } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { currencyOf, WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { ItemPage } from './item.tsx'
import { NewItem } from './new-item.tsx'

export function Items() {
  const { id } = usePlace()
  return (
    <WithStore title="Items">
      {(store) => (id ? <ItemPage {...{ store, id }} /> : <List store={store} />)}
    </WithStore>
  )
}

function List({ store }: { readonly store: Store }) {
  const client = useClient()
  const { query } = usePlace()
  const { search = '', archived = '' } = query
  const [isCreating, setCreating] = useState(false)
  const { store_id } = store
  const filter = { ...(archived && { archived: true }), ...(search && { search }) }
  const paged = usePages(
    async (page, signal) => {
      const { items, next } = await client.items.list({ store_id, ...filter, ...page }, { signal })
      return { rows: items, next }
    },
    [store_id, search, archived],
  )
  const show = (change: { search?: string; archived?: string }) =>
    goTo(linkTo('items', '', { search, archived, ...change }), true)
  return (
    <Page
      title="Items"
      lead={`What the store ${store_id} sells`}
      actions={
        <button type="button" class="primary" onClick={() => setCreating(true)}>
          New item
        </button>
      }
    >
      {isCreating && <NewItem store={store} onClose={() => setCreating(false)} />}
      <search class="filters">
        <SearchField
          {...{ label: 'Search', name: 'search', value: search }}
          onChange={(search) => show({ search })}
        />
        <SelectField
          label="State"
          name="archived"
          value={archived}
          onChange={(archived) => show({ archived })}
          options={[
            ['', 'For sale'],
            ['true', 'Archived'],
          ]}
        />
      </search>
      <Pages
        label="Items"
        paged={paged}
        keyOf={({ id }) => id}
        columns={[
          {
            label: 'Item',
            cell: ({ id, display_name }) => <a href={linkTo('items', id)}>{display_name}</a>,
          },
          { label: 'SKU', cell: ({ name }) => <code>{name}</code> },
          { label: 'Type', cell: ({ type }) => <Badge text={type.replace('_', '-')} /> },
          {
            label: 'Price',
            cell: ({ price }) => formatMoney(price, currencyOf(store)),
            isNumber: true,
          },
        ]}
        empty={search || archived ? <NoMatch /> : <NoItems onCreate={() => setCreating(true)} />}
      />
    </Page>
  )
}

function NoMatch() {
  return (
    <Empty title="No item matches">
      <p>Search for a part of the SKU or of the name.</p>
      <a class="button" href={linkTo('items')}>
        Show all items
      </a>
    </Empty>
  )
}

function NoItems({ onCreate }: { readonly onCreate: () => void }) {
  return (
    <Empty title="This store has no items yet">
      <p>An item is something that players buy, such as 100 gold.</p>
      <button type="button" class="primary" onClick={onCreate}>
        Create the first item
      </button>
    </Empty>
  )
}
