import { useEffect, useState } from 'preact/hooks'
import type { Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Confirm } from '../parts/dialog.tsx'
import { Await, Loading } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { goTo, linkTo } from '../place.ts'
import { currencyOf } from '../scope.tsx'
import { useClient } from '../session.ts'
import { EditItem } from './item-edit.tsx'
import { ItemHistory } from './item-history.tsx'

interface ItemProps {
  readonly store: Store
  readonly id: string
}

export function ItemPage({ store, id }: ItemProps) {
  const client = useClient()
  const loaded = useLoad((signal) => client.items.get(id, { signal }), [id])
  const [isAsking, setAsking] = useState(false)
  const item = loaded.value
  // The currency of the price is that of the item's own store.
  const own = item?.store_id
  const isElsewhere = own !== undefined && own !== store.store_id
  useEffect(() => {
    if (isElsewhere) goTo(linkTo('items', id, { project: undefined, store: own }), true)
  }, [isElsewhere])
  const isArchived = item?.archived_at !== undefined
  const move = async () => {
    await (isArchived ? client.items.restore(id) : client.items.archive(id))
    loaded.reload()
  }
  if (isElsewhere) return <Loading />
  return (
    <Page
      title={item?.display_name ?? 'Item'}
      lead={<a href={linkTo('items')}>All items</a>}
      actions={
        item && (
          <button type="button" class={isArchived ? '' : 'danger'} onClick={() => setAsking(true)}>
            {isArchived ? 'Restore' : 'Archive'}
          </button>
        )
      }
    >
      {isAsking && item && (
        <Confirm
          title={isArchived ? `Restore ${item.display_name}?` : `Archive ${item.display_name}?`}
          verb={isArchived ? 'Restore' : 'Archive'}
          isDangerous={!isArchived}
          onConfirm={move}
          onClose={() => setAsking(false)}
        >
          <p>
            {isArchived
              ? 'Clients list the item again, and players can buy it.'
              : `Clients no longer list ${item.name}. Past purchases stay, players keep what they own, and imports still accept the SKU. You can restore it.`}
          </p>
        </Confirm>
      )}
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
                    isArchived ? (
                      <Badge key="state" tone="warning" text="archived" />
                    ) : (
                      <Badge key="state" tone="good" text="for sale" />
                    ),
                  ],
                  ['Created', <Time key="at" at={item.created_at} />],
                  ['Version', item.version],
                ]}
              />
            </Section>
            <EditItem {...{ store, item }} onSaved={loaded.reload} />
            <ItemHistory {...{ item, currency: currencyOf(store) }} />
          </>
        )}
      </Await>
    </Page>
  )
}
