import { useEffect } from 'preact/hooks'
import type { AuditEntry, Item, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { digitsOf, formatMoney, toDecimal, toMinor } from '../format.ts'
import { Edit, textsOf } from '../parts/edit.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton } from '../parts/form.tsx'
import { Await, Loading } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { currencyOf } from '../scope.tsx'
import { useClient } from '../session.ts'

/** The fields of an item that can change. */
export function itemFields(currency: string): readonly FieldInfo[] {
  return [
    { label: 'Name', name: 'display_name' },
    {
      ...{ label: currency ? `Price in ${currency}` : 'Price in minor units', name: 'price' },
      hint: !currency && 'The store has no currency: enter 499 for 4.99. Set one in the store.',
      inputMode: currency && digitsOf(currency) > 0 ? 'decimal' : 'numeric',
      parse: (typed) => (currency ? toMinor(typed, currency) : typed.trim()),
      mistake: `must be an amount like ${toDecimal('499', currency)}`,
    },
    { label: 'Description', name: 'description', kind: 'long' },
    { label: 'Metadata', name: 'meta', kind: 'json', hint: 'A JSON object for your game.' },
  ]
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
                  ['SKU', <code key="sku">{item.name}</code>],
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
              fields={itemFields(currency)}
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
          { label: 'Time', cell: ({ at }) => <Time at={at} /> },
          { label: 'Change', cell: describe },
          { label: 'Price', cell: ({ data }) => priceChange(data, currency), isNumber: true },
          { label: 'By', cell: ({ actor }) => <code>{actor}</code> },
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
