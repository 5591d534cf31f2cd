import type { Purchase, PurchaseKey, StatusChange, Store } from '../../client/manage.ts'
import { type Signal, useItemNames, useLoad } from '../data.ts'
import { priceOf } from '../format.ts'
import { FormButton } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, More, Page, Section, Time } from '../parts/page.tsx'
import { linkTo } from '../place.ts'
import { client } from '../session.ts'
import { fileOf } from './imports.tsx'
import { playerOf } from './purchases.tsx'

/** A purchase: its amount, item and status, what happened to it, and its facts. */
export function PurchasePage({ store, id }: { readonly store: Store; readonly id: string }) {
  const { store_id } = store
  const loaded = useLoad(loadPurchase, { store_id, transaction_id: id })
  const { purchase } = loaded.value ?? {}
  const names = useItemNames(store_id)
  // The marks keep the order of both, because the name may be written from right to left.
  const title = ({ sku, ...each }: Purchase) =>
    `\u200e${priceOf(each)} · \u2068${names.get(sku) ?? sku}\u2069`
  return (
    <Page
      title={purchase ? title(purchase) : 'Purchase'}
      parent={['Purchases', linkTo('purchases')]}
      badge={purchase?.status}
      actions={loaded.value && <Actions {...loaded.value} />}
    >
      <Await loaded={loaded}>
        {({ purchase, steps, isWaiting }) => (
          <>
            <Section title="Timeline">
              <ol class="timeline">
                {steps.map(({ at, text, status, file }) => (
                  <li key={at}>
                    {text} {status && <Badge text={status} />} {file && <>from {fileOf(file)}</>}
                    <Time at={at} />
                  </li>
                ))}
              </ol>
            </Section>
            <Section title="Purchase">
              <Facts
                of={purchase}
                fields={[
                  'transaction_id',
                  'sku',
                  ['Player', playerOf],
                  'quantity',
                  ['Delivery', () => (isWaiting ? 'not delivered yet' : 'nothing to deliver')],
                  'expires_at',
                  'import_id',
                ]}
              />
            </Section>
            {Object.keys(purchase.metadata).length > 0 && (
              <Section title="Metadata">
                <pre>{JSON.stringify(purchase.metadata, null, 2)}</pre>
              </Section>
            )}
          </>
        )}
      </Await>
    </Page>
  )
}

function Actions({ purchase, isWaiting }: LoadedPurchase) {
  const { store_id, transaction_id, sku, status, quantity } = purchase
  const key = { store_id, transaction_id }
  return (
    <>
      {status !== 'refunded' && status !== 'cancelled' && (
        <More>
          <FormButton
            label="Mark as refunded"
            title={`Mark ${transaction_id} as refunded?`}
            isDangerous
            send={() => client.purchases.refund(key)}
          >
            <p>
              The player no longer owns <strong>{sku}</strong>, and webhooks tell your game. The
              money is not paid back: do that at the payment provider.
            </p>
          </FormButton>
        </More>
      )}
      {isWaiting && (
        <FormButton
          label="Deliver"
          title={`Deliver ${transaction_id}?`}
          submit="Mark as delivered"
          isPrimary
          send={() => client.purchases.deliver(key)}
        >
          <p>
            Give the player {quantity} <strong>{sku}</strong> yourself: your server gets the answer
            that the purchase was delivered already, and gives nothing.
          </p>
        </FormButton>
      )}
    </>
  )
}

/** What happened to a purchase: a text or a status, and the imported file that says so. */
interface Step {
  readonly at: string
  readonly text?: string
  readonly status?: string | undefined
  readonly file?: Pick<StatusChange, 'import_id' | 'file_name'> | undefined
}

type LoadedPurchase = Awaited<ReturnType<typeof loadPurchase>>

/** Loads a purchase with what happened to it, in order of time. */
async function loadPurchase(key: PurchaseKey, options: Signal) {
  const { store_id, transaction_id } = key
  const subject = `${store_id}/${transaction_id}`
  const [{ purchases }, { changes }, waiting, { entries }] = await Promise.all([
    client.purchases.list(key, options),
    client.purchases.changes(key, options),
    client.purchases.list({ ...key, undelivered: true }, options),
    // Keys without the scope `admin` do not see the activity.
    client.audit.list({ subject }, options).catch(() => ({ entries: [] })),
  ])
  /** Whether the purchase must still be delivered. */
  const isWaiting = waiting.purchases.some((each) => each.transaction_id === transaction_id)
  // An id that no purchase has may be that of an order, with several purchases.
  const purchase = purchases.find((each) => each.transaction_id === transaction_id)
  if (!purchase) {
    throw new Error(`The store ${store_id} has no such purchase. Search for its id in all stores.`)
  }
  const { import_id, purchased_at, is_grant } = purchase
  const steps: Step[] = [{ at: purchased_at, text: is_grant ? 'Granted' : 'Bought' }]
  if (isFile(import_id)) {
    const file = await client.imports.get(import_id, options)
    const first = changes[0]?.before ?? purchase.status
    const status = first === 'purchased' ? undefined : first
    steps.push({ at: file.created_at, text: 'Imported', status, file })
  }
  for (const { created_at: at, after: status, ...file } of changes) {
    steps.push({ at, status, file: isFile(file.import_id) ? file : undefined })
  }
  // The activity also has the imports and the changes of the status.
  for (const { action, at } of entries) {
    if (action === 'purchases.record') steps.push({ at, text: 'Recorded by your server' })
    if (action === 'purchases.deliver') steps.push({ at, status: 'delivered' })
  }
  return { purchase, isWaiting, steps: steps.toSorted((a, b) => a.at.localeCompare(b.at)) }
}

/** Whether an import read a file. Otherwise the server recorded one purchase. */
function isFile(import_id: string): boolean {
  return !import_id.startsWith('rec_')
}
