import { useState } from 'preact/hooks'
import type { Purchase, PurchaseStatus } from '../../client/manage.ts'
import { usePages } from '../data.ts'
import { formatCount, formatMoney } from '../format.ts'
import { SearchField, SelectField, TextField } from '../parts/fields.tsx'
import { Empty } from '../parts/notice.tsx'
import { Badge, Time } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'

const STATUSES: readonly (readonly [string, string])[] = [
  ['', 'All'],
  ['purchased', 'Purchased'],
  ['pending', 'Pending'],
  ['refunded', 'Refunded'],
  ['cancelled', 'Cancelled'],
]

const TONES = {
  purchased: 'good',
  pending: 'plain',
  refunded: 'warning',
  cancelled: 'bad',
} as const

interface PurchasesProps {
  readonly store_id: string
  readonly user_id?: string
}

/** The purchases of a store, or of one player in it, with filters. */
export function Purchases({ store_id, user_id }: PurchasesProps) {
  const client = useClient()
  const [filter, setFilter] = useState({ sku: '', status: '', from: '', to: '' })
  const set = (name: keyof typeof filter) => (value: string) =>
    setFilter({ ...filter, [name]: value })
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== ''))
  const paged = usePages(
    async (page, signal) => {
      const query = {
        ...(given as { status?: PurchaseStatus }),
        ...(user_id && { user_id }),
        ...page,
      }
      const { purchases, next } = await client.purchases.list({ store_id, ...query }, { signal })
      return { rows: purchases, next }
    },
    [store_id, user_id, given],
  )
  return (
    <>
      <search class="filters">
        <SearchField label="SKU" name="sku" value={filter.sku} onChange={set('sku')} />
        <SelectField
          {...{ label: 'Status', name: 'status', value: filter.status, options: STATUSES }}
          onChange={set('status')}
        />
        <TextField
          {...{ label: 'From (UTC)', name: 'from', type: 'date', value: filter.from }}
          onChange={set('from')}
        />
        <TextField
          {...{ label: 'Before (UTC)', name: 'to', type: 'date', value: filter.to }}
          onChange={set('to')}
        />
      </search>
      <Pages
        label="Purchases"
        paged={paged}
        keyOf={({ transaction_id }) => transaction_id}
        columns={[
          { label: 'Time', cell: ({ purchased_at }) => <Time at={purchased_at} /> },
          { label: 'SKU', cell: ({ sku }) => <code>{sku}</code> },
          ...(user_id ? [] : [{ label: 'Player', cell: playerOf }]),
          { label: 'Quantity', cell: ({ quantity }) => formatCount(quantity), isNumber: true },
          { label: 'Price', cell: priceOf, isNumber: true },
          { label: 'Status', cell: ({ status }) => <Badge tone={TONES[status]} text={status} /> },
          { label: 'Transaction', cell: ({ transaction_id: id }) => <code>{id}</code> },
        ]}
        empty={<NoPurchases isFiltered={Object.keys(given).length > 0} />}
      />
    </>
  )
}

function playerOf({ user_id }: Purchase) {
  return user_id ? <a href={linkTo('player', user_id)}>{user_id}</a> : '–'
}

function priceOf({ price, currency = '' }: Purchase) {
  return price === undefined ? '–' : formatMoney(price, currency)
}

function NoPurchases({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty title="No purchase matches">
        <p>Clear a filter to see more.</p>
      </Empty>
    )
  }
  return (
    <Empty title="There are no purchases">
      <p>Purchases come from an imported file, or from your server.</p>
      <a class="button" href={linkTo('import')}>
        Import a file
      </a>
    </Empty>
  )
}
