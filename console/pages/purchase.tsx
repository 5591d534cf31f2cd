import type { Purchase, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { formatCount, priceOf } from '../format.ts'
import { Copyable } from '../parts/copy.tsx'
import { Await, Empty } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'

/** A purchase, with the import that added it and those that changed its status. */
export function PurchasePage({ store, id }: { readonly store: Store; readonly id: string }) {
  const client = useClient()
  const { store_id } = store
  const loaded = useLoad(
    async (signal) => {
      const key = { store_id, transaction_id: id }
      const [{ purchases }, { changes }] = await Promise.all([
        client.purchases.list(key, { signal }),
        client.purchases.changes(key, { signal }),
      ])
      const [purchase] = purchases
      if (!purchase) return null
      const { status, import_id } = purchase
      const { created_at = undefined, file_name = undefined } = isRecorded(import_id)
        ? {}
        : await client.imports.get(import_id, { signal })
      const added = { import_id, created_at, file_name, before: '', after: status }
      return { purchase, steps: [{ ...added, after: changes[0]?.before ?? status }, ...changes] }
    },
    [store_id, id],
  )
  return (
    <Page title={id} lead={<a href={linkTo('purchases')}>All purchases</a>}>
      <Await loaded={loaded}>
        {(found) =>
          found ? (
            <>
              <Section title="Purchase">
                <PurchaseFacts purchase={found.purchase} />
              </Section>
              <Section title="Imports">
                <Table
                  label="Imports"
                  rows={found.steps}
                  keyOf={({ import_id }) => import_id}
                  columns={[
                    ['Import', importOf],
                    'created_at',
                    ['Before', ({ before }) => before || 'added', 'hidden'],
                    ['After', ({ after }) => <Badge text={after} />, 'end'],
                  ]}
                />
              </Section>
            </>
          ) : (
            <Empty title={`The store ${store_id} has no such purchase`}>
              <p>Search for the id to look into all stores.</p>
            </Empty>
          )
        }
      </Await>
    </Page>
  )
}

/** Whether the server recorded the purchase by itself, outside of a file. */
function isRecorded(import_id: string): boolean {
  return import_id.startsWith('rec_')
}

interface Step {
  readonly import_id: string
  readonly file_name?: string | undefined
}

function importOf({ import_id, file_name }: Step) {
  if (isRecorded(import_id)) return 'recorded by your server'
  return <a href={linkTo('purchases', '', { import_id })}>{file_name || import_id}</a>
}

function PurchaseFacts({ purchase }: { readonly purchase: Purchase }) {
  const { transaction_id, sku, user_id, quantity, status, metadata, ...rest } = purchase
  return (
    <>
      <Facts
        facts={[
          ['Status', <Badge key="status" text={status} />],
          ['Price', priceOf(purchase)],
          ['Quantity', formatCount(quantity)],
          ['SKU', <code key="sku">{sku}</code>],
          [
            'Player',
            user_id ? (
              <a key="user" href={linkTo('player', user_id)}>
                {user_id}
              </a>
            ) : (
              '–'
            ),
          ],
          ['Time', <Time key="time" at={rest.purchased_at} />],
          ...(rest.expires_at
            ? [['Expires', <Time key="end" at={rest.expires_at} />] as const]
            : []),
          ['Transaction', <Copyable key="id" label="the transaction id" text={transaction_id} />],
          ['Import', <Copyable key="import" label="the import id" text={rest.import_id} />],
        ]}
      />
      {Object.keys(metadata).length > 0 && <pre>{JSON.stringify(metadata, null, 2)}</pre>}
    </>
  )
}
