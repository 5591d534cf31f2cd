import type { Purchase, Store } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { priceOf } from '../format.ts'
import { FormButton } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { client } from '../session.ts'
import { playerOf } from './purchases.tsx'

/** A purchase, with the import that added it and those that changed its status. */
export function PurchasePage({ store, id }: { readonly store: Store; readonly id: string }) {
  const { store_id } = store
  const loaded = useLoad((signal) => loadPurchase(store_id, id, { signal }), [store_id, id])
  return (
    <Page title={id} lead={<a href={linkTo('purchases')}>All purchases</a>}>
      <Await loaded={loaded}>
        {({ purchase, steps }) => (
          <>
            <Section title="Purchase">
              <Facts
                of={purchase}
                fields={[
                  'status',
                  ['Price', priceOf],
                  'quantity',
                  'sku',
                  ['Player', playerOf],
                  'purchased_at',
                  'expires_at',
                  'transaction_id',
                  'import_id',
                ]}
              />
              <RefundButton purchase={purchase} />
              {Object.keys(purchase.metadata).length > 0 && (
                <pre>{JSON.stringify(purchase.metadata, null, 2)}</pre>
              )}
            </Section>
            <Section title="Imports">
              <Table
                label="Imports"
                rows={steps}
                columns={[
                  ['Import', importOf],
                  'created_at',
                  ['before', 'hidden'],
                  ['After', ({ after }) => <Badge text={after} />, 'end'],
                ]}
              />
            </Section>
          </>
        )}
      </Await>
    </Page>
  )
}

function RefundButton({ purchase }: { readonly purchase: Purchase }) {
  const { store_id, transaction_id, sku, status } = purchase
  if (status === 'refunded' || status === 'cancelled') return null
  return (
    <FormButton
      label="Refund"
      title={`Refund ${transaction_id}?`}
      submit="Refund the purchase"
      isDangerous
      fields={[]}
      send={() => client.purchases.refund({ store_id, transaction_id })}
    >
      <p>
        The player no longer owns <strong>{sku}</strong>, and webhooks tell your game. The money is
        not paid back: do that at the payment provider.
      </p>
    </FormButton>
  )
}

/** Loads a purchase with the steps of its status. */
async function loadPurchase(
  store_id: string,
  transaction_id: string,
  options: { signal: AbortSignal },
) {
  const key = { store_id, transaction_id }
  const [{ purchases }, { changes }] = await Promise.all([
    client.purchases.list(key, options),
    client.purchases.changes(key, options),
  ])
  // An id that no purchase has may be that of an order, with several purchases.
  const purchase = purchases.find((each) => each.transaction_id === transaction_id)
  if (!purchase) {
    throw new Error(`The store ${store_id} has no such purchase. Search for its id in all stores.`)
  }
  const { status, import_id } = purchase
  const { created_at, file_name } = isRecorded(import_id)
    ? {}
    : await client.imports.get(import_id, options)
  const added = { before: 'added', after: changes[0]?.before ?? status }
  return { purchase, steps: [{ import_id, created_at, file_name, ...added }, ...changes] }
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
