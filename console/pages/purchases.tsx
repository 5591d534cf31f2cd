import { useState } from 'preact/hooks'
import type { Purchase } from '../../client/manage.ts'
import { PURCHASE_STATUSES } from '../../lib/domain/purchase.ts'
import { formatCount, formatMoney } from '../format.ts'
import { allOr } from '../parts/fields.tsx'
import { Filters, type Values } from '../parts/form.tsx'
import { Badge, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'

const FIND = {
  label: 'Transaction id, all stores',
  name: 'transaction_id',
  kind: 'search',
} as const
const FILTERS = [
  { label: 'SKU', name: 'sku', kind: 'search' },
  { label: 'Status', name: 'status', options: allOr(PURCHASE_STATUSES) },
  { label: 'From (UTC)', name: 'from', kind: 'date' },
  { label: 'Before (UTC)', name: 'to', kind: 'date' },
] as const

/** The purchases of a store, or of one player in it, with filters. */
export function Purchases({ store_id, user_id }: { store_id: string; user_id?: string }) {
  const client = useClient()
  const [values, setValues] = useState<Values>({})
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
  const isEverywhere = given.transaction_id !== undefined
  const query = { ...(!isEverywhere && { store_id }), ...(user_id && { user_id }), ...given }
  return (
    <>
      <Filters
        fields={user_id ? FILTERS : [FIND, ...FILTERS]}
        values={values}
        onChange={setValues}
      />
      <List
        label="Purchases"
        load={(page, options) => client.purchases.list({ ...query, ...page }, options)}
        of="purchases"
        inputs={[query]}
        keyOf={({ store_id, transaction_id }) => `${store_id} ${transaction_id}`}
        columns={[
          ...(isEverywhere ? [STORE] : []),
          { label: 'Time', cell: ({ purchased_at }) => <Time at={purchased_at} /> },
          { label: 'SKU', cell: ({ sku }) => <code>{sku}</code> },
          ...(user_id ? [] : [{ label: 'Player', cell: playerOf }]),
          { label: 'Quantity', cell: ({ quantity }) => formatCount(quantity), isNumber: true },
          {
            label: 'Price',
            cell: ({ price, currency = '' }) =>
              price === undefined ? '–' : formatMoney(price, currency),
            isNumber: true,
          },
          { label: 'Status', cell: ({ status }) => <Badge text={status} /> },
          { label: 'Transaction', cell: ({ transaction_id: id }) => <code>{id}</code> },
        ]}
        empty={
          Object.keys(given).length > 0
            ? ['No purchase matches', 'Clear a filter to see more.']
            : [
                'There are no purchases',
                'Purchases come from an imported file, or from your server.',
                <a key="next" class="button" href={linkTo('import')}>
                  Import a file
                </a>,
              ]
        }
      />
    </>
  )
}

const STORE = { label: 'Store', cell: ({ store_id }: Purchase) => <code>{store_id}</code> }

function playerOf({ user_id, store_id: store }: Purchase) {
  return user_id ? <a href={linkTo('player', user_id, { store })}>{user_id}</a> : '–'
}
