import { useState } from 'preact/hooks'
import type { Item, NewItem, Store } from '../../client/manage.ts'
import { itemChangeFields, newItemFields, parseNewItem } from '../../lib/domain/item.ts'
import { currencyOf, formatMoney } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { FileChoice } from '../parts/file.tsx'
import { Filters, FormButton } from '../parts/form.tsx'
import { More, Page, Text } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'
import { ArchiveButton, ItemEdit, itemFields } from './item.tsx'
import { CatalogFile } from './items-file.tsx'

const FILTERS = [
  { label: 'Search', name: 'search', kind: 'search' },
  { label: 'State', name: 'archived', options: { '': 'For sale', true: 'Archived' } },
] as const

/** The items of a store. The URL has the filters. */
export function Items({ store }: { readonly store: Store }) {
  const { store_id } = store
  const currency = currencyOf(store)
  const { search, archived } = usePlace().query
  const [file, setFile] = useState<File>()
  return (
    <Page
      title="Items"
      lead="What the store sells"
      actions={
        <>
          <FileChoice label="Catalog file" onChoose={setFile} />
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
        </>
      }
    >
      {file && (
        <CatalogFile key={file.name} store={store} file={file} onClose={() => setFile(undefined)} />
      )}
      <Filters fields={FILTERS} />
      <List
        label="Items"
        list={client.items.list}
        query={{ store_id, search, archived: archived ? true : undefined }}
        columns={[
          [
            'Item',
            (item) => <Text isName text={item.display_name} href={linkTo('items', item.id)} />,
          ],
          ['SKU', ({ name }) => <Text text={name} />],
          'type',
          ['Price', (item) => <Price item={item} currency={currency} />, 'number end'],
          [
            'Action',
            (item) => (
              <More>
                <ArchiveButton item={item} />
              </More>
            ),
            'hidden',
          ],
        ]}
        keyOf={({ id }) => id}
        empty={[
          'This store has no items yet',
          'An item is something that players buy, such as 100 gold.',
        ]}
      />
    </Page>
  )
}

/** The price of an item in the list. A click edits it. */
function Price({ item, currency }: { readonly item: Item; readonly currency: string }) {
  const [isOpen, setOpen] = useState(false)
  const close = () => setOpen(false)
  const title = `Edit the price of ${item.display_name}`
  return (
    <>
      <Button
        label={formatMoney(item.price, currency)}
        class="quiet"
        title={title}
        onClick={() => setOpen(true)}
      />
      {isOpen && (
        <Dialog title={title} onClose={close}>
          <ItemEdit
            item={item}
            fields={itemFields(itemChangeFields, currency).filter(({ name }) => name === 'price')}
            currency={currency}
            onDone={close}
          />
        </Dialog>
      )}
    </>
  )
}
