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
    <Page
      title={id}
      lead={<a href={linkTo('purchases')}>All purchases</a>}
      actions={loaded.value && <Actions {...loaded.value} />}
    >
      <Await loaded={loaded}>
        {({ purchase, steps, isWaiting }) => (
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
                  ['Delivery', () => (isWaiting ? 'not delivered yet' : 'nothing to deliver')],
                ]}
              />
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

interface ActionsProps {
  readonly purchase: Purchase
  /** Whether the purchase must still be delivered. */
  readonly isWaiting: boolean
}

function Actions({ purchase, isWaiting }: ActionsProps) {
  const { store_id, transaction_id, sku, status, quantity } = purchase
  const key = { store_id, transaction_id }
  return (
    <>
      {isWaiting && (
        <FormButton
          label="Deliver"
          title={`Deliver ${transaction_id}?`}
          submit="Mark as delivered"
          send={() => client.purchases.deliver(key)}
        >
          <p>
            Give the player {quantity} <strong>{sku}</strong> yourself: your server gets the answer
            that the purchase was delivered already, and gives nothing.
          </p>
        </FormButton>
      )}
      {status !== 'refunded' && status !== 'cancelled' && (
        <FormButton
          label="Mark as refunded"
          title={`Mark ${transaction_id} as refunded?`}
          isDangerous
          send={() => client.purchases.refund(key)}
        >
          <p>
            The player no longer owns <strong>{sku}</strong>, and webhooks tell your game. The money
            is not paid back: do that at the payment provider.
          </p>
        </FormButton>
      )}
    </>
  )
}

/** Loads a purchase with the steps of its status. */
async function loadPurchase(
  store_id: string,
  transaction_id: string,
  options: { signal: AbortSignal },
) {
  const key = { store_id, transaction_id }
  const [{ purchases }, { changes }, waiting] = await Promise.all([
    client.purchases.list(key, options),
    client.purchases.changes(key, options),
    client.purchases.list({ ...key, undelivered: true }, options),
  ])
  const isWaiting = waiting.purchases.some((each) => each.transaction_id === transaction_id)
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
  return {
    purchase,
    isWaiting,
    steps: [{ import_id, created_at, file_name, ...added }, ...changes],
  }
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
