import type { Item, Store } from '../../client/manage.ts'
import { itemChangeFields, type newItemFields, parseItemChange } from '../../lib/domain/item.ts'
import { useLoad } from '../data.ts'
import { currencyOf, digitsOf, formatMoney, toDecimal, toMinor } from '../format.ts'
import { Copyable } from '../parts/button.tsx'
import { Edit, type EditProps } from '../parts/edit.tsx'
import { FormButton } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Facts, More, Page, Section } from '../parts/page.tsx'
import { fieldsOf } from '../parts/rules.ts'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { client } from '../session.ts'
import { useSentences } from './activity.tsx'

/** The fields of a form for a new item, or for a change of one. */
export function itemFields(
  rules: typeof newItemFields | typeof itemChangeFields,
  currency: string,
) {
  const inMinor = 'The store has no currency: enter 499 for 4.99. Set one in the store.'
  return fieldsOf(rules, {
    store_id: false,
    id: false,
    version: false,
    name: { label: 'SKU', hint: 'Letters, digits and underscores. It never changes.' },
    display_name: { label: 'Name' },
    type: { hint: 'It never changes.' },
    price: {
      label: currency ? `Price in ${currency}` : 'Price in minor units',
      hint: currency ? '' : inMinor,
      inputMode: digitsOf(currency) > 0 ? 'decimal' : 'numeric',
      parse: (typed) => toMinor(typed, currency),
      mistake: `must be an amount like ${toDecimal('499', currency)}`,
      width: 16,
    },
    meta: { label: 'Metadata', hint: 'A JSON object for your game.' },
  })
}

export function ItemPage({ store, id }: { readonly store: Store; readonly id: string }) {
  const { store_id } = store
  const loaded = useLoad(async (id, options) => {
    const item = await client.items.get(id, options)
    if (item.store_id === store_id) return item
    // The price is in the currency of the item's own store.
    goTo(linkTo('items', id, { project: undefined, store: item.store_id }), true)
    return undefined
  }, id)
  const item = loaded.value
  const sentence = useSentences()
  const currency = currencyOf(store)
  return (
    <Page
      title={item?.display_name ?? 'Item'}
      parent={['Items', linkTo('items')]}
      badge={item && (item.archived_at ? 'archived' : 'for sale')}
      actions={
        item && (
          <More>
            <ArchiveButton item={item} />
          </More>
        )
      }
    >
      <Await loaded={loaded}>
        {(item) => (
          <>
            <Section title="Item">
              <Facts
                of={item}
                fields={[
                  ['Price', ({ price }) => formatMoney(price, currency)],
                  ['SKU', ({ name }) => <Copyable label="SKU" text={name} />],
                  'id',
                  'type',
                  'created_at',
                  'version',
                ]}
              />
            </Section>
            <Section title="Edit">
              <ItemEdit
                item={item}
                fields={itemFields(itemChangeFields, currency)}
                currency={currency}
              />
            </Section>
            <Section title="History">
              <List
                label="History"
                list={client.items.history}
                query={{ id }}
                columns={[
                  ['Change', (entry) => sentence({ ...entry, item })],
                  ['at', 'end'],
                ]}
                empty={['No changes are recorded', 'The next change of this item appears here.']}
              />
            </Section>
          </>
        )}
      </Await>
    </Page>
  )
}

interface ItemEditProps extends Pick<EditProps<Item>, 'fields' | 'onDone'> {
  readonly item: Item
  readonly currency: string
}

/** A form for some fields of an item. */
export function ItemEdit({ item, fields, currency, onDone }: ItemEditProps) {
  const { id } = item
  return (
    <Edit
      label={`Edit ${item.display_name}`}
      record={item}
      fields={fields}
      inputOf={({ metadata: meta, price, ...rest }) => ({
        ...rest,
        meta,
        price: toDecimal(String(price), currency),
      })}
      load={() => client.items.get(id)}
      check={(changes) => parseItemChange({ id, ...changes })}
      save={(changes, { version }) => client.items.update({ id, ...changes, version })}
      onDone={onDone}
    />
  )
}

/** Archives an item after a question, or restores it. */
export function ArchiveButton({ item }: { readonly item: Item }) {
  const { id, name, display_name, archived_at } = item
  const verb = archived_at ? 'Restore' : 'Archive'
  return (
    <FormButton
      label={verb}
      title={`${verb} ${display_name}?`}
      isDangerous={!archived_at}
      send={() => (archived_at ? client.items.restore(id) : client.items.archive(id))}
    >
      <p>
        {archived_at
          ? 'Clients list the item again, and players can buy it.'
          : `Clients no longer list ${name}. Past purchases stay, players keep what they own, and imports still accept the SKU. You can restore it.`}
      </p>
    </FormButton>
  )
}
