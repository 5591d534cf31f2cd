import type { NewItem, Store } from '../../client/manage.ts'
import { newItemFields, parseNewItem } from '../../lib/domain/item.ts'
import { formatMoney } from '../format.ts'
import { Filters, FormButton } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { currencyOf, WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { ItemPage, itemFields } from './item.tsx'

export function Items() {
  const { id } = usePlace()
  return (
    <WithStore title="Items">
      {(store) =>
        id ? <ItemPage {...{ store, id }} /> : <ItemList key={store.store_id} store={store} />
      }
    </WithStore>
  )
}

const FILTERS = [
  { label: 'Search', name: 'search', kind: 'search' },
  {
    label: 'State',
    name: 'archived',
    options: [
      ['', 'For sale'],
      ['true', 'Archived'],
    ],
  },
] as const

function ItemList({ store }: { readonly store: Store }) {
  const client = useClient()
  const { store_id } = store
  const { search = '', archived = '' } = usePlace().query
  const filter = { ...(archived && { archived: true }), ...(search && { search }) }
  return (
    <Page
      title="Items"
      lead={`What the store ${store_id} sells`}
      actions={<NewItemButton {...{ store, label: 'New item' }} />}
    >
      <Filters
        fields={FILTERS}
        values={{ search, archived }}
        onChange={(values) => goTo(linkTo('items', '', { ...values }), true)}
      />
      <List
        label="Items"
        load={(page, options) => client.items.list({ store_id, ...filter, ...page }, options)}
        of="items"
        inputs={[store_id, filter]}
        keyOf={({ id }) => id}
        columns={[
          ['Item', ({ id, display_name }) => <a href={linkTo('items', id)}>{display_name}</a>],
          ['SKU', ({ name }) => <code>{name}</code>],
          ['Type', ({ type }) => type.replace('_', '-')],
          ['Price', ({ price }) => formatMoney(price, currencyOf(store)), 'number end'],
        ]}
        empty={
          search || archived
            ? [
                'No item matches',
                'Search for a part of the SKU or of the name.',
                <a key="next" class="button" href={linkTo('items')}>
                  Show all items
                </a>,
              ]
            : [
                'This store has no items yet',
                'An item is something that players buy, such as 100 gold.',
                <NewItemButton key="next" {...{ store, label: 'Create the first item' }} />,
              ]
        }
      />
    </Page>
  )
}

function NewItemButton({ store, label }: { readonly store: Store; readonly label: string }) {
  const client = useClient()
  return (
    <FormButton
      {...{ label, title: 'New item', submit: 'Create', isPrimary: true }}
      fields={itemFields(newItemFields, currencyOf(store))}
      values={{ type: 'consumable', meta: '{}' }}
      check={(item) => parseNewItem({ store_id: store.store_id, ...item })}
      send={async (item, creation) => {
        const input = { store_id: store.store_id, ...item } as NewItem
        goTo(linkTo('items', (await client.items.create(input, creation)).id))
      }}
    />
  )
}
