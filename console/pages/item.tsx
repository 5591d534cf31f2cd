import { useEffect } from 'preact/hooks'
import type { AuditEntry, Item, Store } from '../../client/manage.ts'
import {
  ITEM_TYPES,
  itemChangeFields,
  type newItemFields,
  parseItemChange,
} from '../../lib/domain/item.ts'
import { useLoad } from '../data.ts'
import { digitsOf, formatMoney, toDecimal, toMinor } from '../format.ts'
import { Copyable } from '../parts/copy.tsx'
import { Edit, textsOf } from '../parts/edit.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton } from '../parts/form.tsx'
import { Await, Loading } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { fieldsOf } from '../parts/rules.ts'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { currencyOf } from '../scope.tsx'
import { useClient } from '../session.ts'

/** The fields of a form for a new item, or for a change of one. */
export function itemFields(
  rules: typeof newItemFields | typeof itemChangeFields,
  currency: string,
): readonly FieldInfo[] {
  return fieldsOf(rules, {
    ...{ store_id: false, id: false, version: false },
    name: { label: 'SKU', hint: 'Letters, digits and underscores. It never changes.' },
    display_name: { label: 'Name' },
    type: {
      hint: 'It never changes.',
      options: ITEM_TYPES.map((type) => [type, type.replace('_', '-')]),
    },
    price: {
      label: currency ? `Price in ${currency}` : 'Price in minor units',
      hint: !currency && 'The store has no currency: enter 499 for 4.99. Set one in the store.',
      inputMode: currency && digitsOf(currency) > 0 ? 'decimal' : 'numeric',
      parse: (typed) => (currency ? toMinor(typed, currency) : typed.trim()),
      mistake: `must be an amount like ${toDecimal('499', currency)}`,
      width: 16,
    },
    meta: { label: 'Metadata', hint: 'A JSON object for your game.' },
  })
}

function typedOf(item: Item, currency: string) {
  const price = currency ? toDecimal(String(item.price), currency) : String(item.price)
  return { ...textsOf({ ...item, meta: item.metadata }), price }
}

export function ItemPage({ store, id }: { readonly store: Store; readonly id: string }) {
  const client = useClient()
  const loaded = useLoad((signal) => client.items.get(id, { signal }), [id])
  const item = loaded.value
  // The currency of the price is that of the item's own store.
  const own = item?.store_id
  const isElsewhere = own !== undefined && own !== store.store_id
  useEffect(() => {
    if (isElsewhere) goTo(linkTo('items', id, { project: undefined, store: own }), true)
  }, [isElsewhere])
  if (isElsewhere) return <Loading />
  const currency = currencyOf(store)
  return (
    <Page
      title={item?.display_name ?? 'Item'}
      lead={<a href={linkTo('items')}>All items</a>}
      actions={item && <ArchiveButton {...{ item }} onChanged={loaded.reload} />}
    >
      <Await loaded={loaded}>
        {(item) => (
          <>
            <Section title="Item">
              <Facts
                facts={[
                  ['SKU', <Copyable key="sku" label="the SKU" text={item.name} />],
                  ['Id', <Copyable key="id" label="the id" text={id} />],
                  ['Type', item.type.replace('_', '-')],
                  [
                    'State',
                    <Badge key="state" text={item.archived_at ? 'archived' : 'for sale'} />,
                  ],
                  ['Created', <Time key="at" at={item.created_at} />],
                  ['Version', item.version],
                ]}
              />
            </Section>
            <Edit
              label="Edit item"
              record={item}
              fields={itemFields(itemChangeFields, currency)}
              check={(changes) => parseItemChange({ id, ...changes })}
              typedOf={(item) => typedOf(item, currency)}
              load={() => client.items.get(id)}
              save={(changes, { version }) => client.items.update({ id, ...changes, version })}
              onSaved={loaded.reload}
            />
            <History {...{ item, currency }} />
          </>
        )}
      </Await>
    </Page>
  )
}

function ArchiveButton({ item, onChanged }: { item: Item; onChanged: () => void }) {
  const client = useClient()
  const { id, name, display_name, archived_at } = item
  const verb = archived_at ? 'Restore' : 'Archive'
  const change = async () => {
    await (archived_at ? client.items.restore(id) : client.items.archive(id))
    onChanged()
  }
  return (
    <FormButton
      {...{ label: verb, title: `${verb} ${display_name}?`, isDangerous: !archived_at }}
      send={change}
    >
      <p>
        {archived_at
          ? 'Clients list the item again, and players can buy it.'
          : `Clients no longer list ${name}. Past purchases stay, players keep what they own, and imports still accept the SKU. You can restore it.`}
      </p>
    </FormButton>
  )
}

/** The changes of an item with its old and new prices, newest first. */
function History({ item, currency }: { item: Item; currency: string }) {
  const client = useClient()
  const { id, version, archived_at } = item
  return (
    <Section title="History">
      <List
        label="History"
        load={(page, options) => client.items.history({ id, ...page }, options)}
        of="entries"
        inputs={[id, version, archived_at]}
        keyOf={({ at }, index) => `${at} ${index}`}
        columns={[
          ['Change', describe],
          'at',
          ['Price', ({ data }) => priceChange(data, currency), 'number end'],
          'actor',
        ]}
        empty={['No changes are recorded', 'The next change of this item appears here.']}
      />
    </Section>
  )
}

function describe({ action, data }: AuditEntry): string {
  const changed = Array.isArray(data?.changed) ? `: ${data.changed.join(', ')}` : ''
  return `${action.replace('item.', '')}${changed}`
}

function priceChange(data: AuditEntry['data'], currency: string) {
  const { old, new: now } = (data?.price ?? {}) as { old?: number; new?: number }
  if (old === undefined || now === undefined) return '–'
  return (
    <>
      <s>{formatMoney(old, currency)}</s> → {formatMoney(now, currency)}
    </>
  )
}
