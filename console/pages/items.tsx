import type { NewItem, Store } from '../../client/manage.ts'
import { newItemFields, parseNewItem } from '../../lib/domain/item.ts'
import { currencyOf, formatMoney } from '../format.ts'
import { Filters, FormButton } from '../parts/form.tsx'
import { Page, Text } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'
import { itemFields } from './item.tsx'

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

/** The items of a store. The URL has the filters. */
export function Items({ store }: { readonly store: Store }) {
  const { store_id } = store
  const currency = currencyOf(store)
  const { search = '', archived = '' } = usePlace().query
  const filter = { ...(archived && { archived: true }), ...(search && { search }) }
  return (
    <Page
      title="Items"
      lead="What the store sells"
      actions={
        <FormButton
          label="New item"
          submit="Create"
          isPrimary
          fields={itemFields(newItemFields, currency)}
          values={{ type: 'consumable', meta: '{}' }}
          check={(item) => parseNewItem({ store_id, ...item })}
          send={async (item, creation) => {
            const { id } = await client.items.create({ store_id, ...item } as NewItem, creation)
            goTo(linkTo('items', id))
          }}
        />
      }
    >
      <Filters fields={FILTERS} />
      <List
        label="Items"
        list={client.items.list}
        query={{ store_id, ...filter }}
        columns={[
          [
            'Item',
            (item) => <Text isName text={item.display_name} href={linkTo('items', item.id)} />,
          ],
          ['SKU', ({ name }) => <Text text={name} />],
          'type',
          ['Price', ({ price }) => formatMoney(price, currency), 'number end'],
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
              ]
        }
      />
    </Page>
  )
}
