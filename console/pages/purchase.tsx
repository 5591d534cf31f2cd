import type { ComponentChildren } from 'preact'
import type { AuditEntry, Purchase, Store } from '../../client/manage.ts'
import { useItemNames, useLoad } from '../data.ts'
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
  const loaded = useLoad((signal) => loadPurchase(store_id, id, { signal }), [store_id, id])
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
                {steps.map(({ at, text }) => (
                  <li key={at}>
                    <span>{text}</span> <Time at={at} />
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

interface Step {
  readonly at: string
  readonly text: ComponentChildren
}

/** Loads a purchase with what happened to it, in order of time. */
async function loadPurchase(
  store_id: string,
  transaction_id: string,
  options: { signal: AbortSignal },
) {
  const key = { store_id, transaction_id }
  const subject = `${store_id}/${transaction_id}`
  const [{ purchases }, { changes }, waiting, { entries }] = await Promise.all([
    client.purchases.list(key, options),
    client.purchases.changes(key, options),
    client.purchases.list({ ...key, undelivered: true }, options),
    // Keys without the scope `admin` do not see the activity.
    client.audit.list({ subject }, options).catch(() => ({ entries: [] })),
  ])
  const isWaiting = waiting.purchases.some((each) => each.transaction_id === transaction_id)
  // An id that no purchase has may be that of an order, with several purchases.
  const purchase = purchases.find((each) => each.transaction_id === transaction_id)
  if (!purchase) {
    throw new Error(`The store ${store_id} has no such purchase. Search for its id in all stores.`)
  }
  const { import_id, purchased_at, is_grant } = purchase
  const added = isRecorded(import_id) ? [] : [await client.imports.get(import_id, options)]
  const steps: readonly Step[] = [
    { at: purchased_at, text: is_grant ? 'Granted' : 'Bought' },
    ...added.map((each) => {
      const first = changes[0]?.before ?? purchase.status
      const as = first !== 'purchased' && <Badge text={first} />
      return {
        at: each.created_at,
        text: (
          <>
            Imported {as} from {fileOf(each)}
          </>
        ),
      }
    }),
    ...changes.map(({ created_at: at, after, ...each }) => {
      const text = (
        <>
          <Badge text={after} /> {!isRecorded(each.import_id) && <>from {fileOf(each)}</>}
        </>
      )
      return { at, text }
    }),
    ...entries.flatMap(stepsOf),
  ]
  return { purchase, isWaiting, steps: steps.toSorted((a, b) => a.at.localeCompare(b.at)) }
}

/** The steps that only the activity has, besides imports and changes of the status. */
function stepsOf({ action, at }: AuditEntry): readonly Step[] {
  if (action === 'purchases.record') return [{ at, text: 'Recorded by your server' }]
  return action === 'purchases.deliver' ? [{ at, text: <Badge text="delivered" /> }] : []
}

/** Whether the server recorded the purchase by itself, outside of a file. */
function isRecorded(import_id: string): boolean {
  return import_id.startsWith('rec_')
}
