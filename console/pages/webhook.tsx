import { useState } from 'preact/hooks'
import type { WebhookDelivery, WebhookEndpoint } from '../../client/manage.ts'
import { WEBHOOK_EVENTS } from '../../lib/domain/event.ts'
import { useLoad } from '../data.ts'
import { formatCount, labelOf } from '../format.ts'
import { ActionButton, FormButton } from '../parts/form.tsx'
import { Await, Notice, type NoticeProps } from '../parts/notice.tsx'
import { type Column, Facts, More, Page, Section, Text, Time } from '../parts/page.tsx'
import { goTo, linkTo } from '../place.ts'
import { client } from '../session.ts'
import { Deliveries } from './deliveries.tsx'
import { setWebhook, stateOf, WebhookForm } from './webhooks.tsx'

export function WebhookPage({ id }: { readonly id: string }) {
  const loaded = useLoad(client.webhooks.get, id, { interval: 1_000 })
  const [outcome, setOutcome] = useState<NoticeProps>()
  const test = async () => {
    setOutcome(undefined)
    setOutcome(await sendTest(id))
  }
  const { value: endpoint } = loaded
  return (
    <Page
      title="Webhook"
      parent={['Webhooks', linkTo('webhooks')]}
      badge={endpoint && stateOf(endpoint)}
      lead={endpoint && <Text text={endpoint.url || 'No confirmed URL'} />}
      actions={
        endpoint && (
          <>
            <Actions endpoint={endpoint} />
            {endpoint.url && (
              <ActionButton label="Send a test" act={test} isPrimary={!endpoint.unconfirmed_url} />
            )}
          </>
        )
      }
    >
      {outcome && <Notice {...outcome} />}
      <Await loaded={loaded}>
        {(endpoint) => (
          <>
            <Warnings {...endpoint} />
            <Section title="Endpoint">
              <Facts of={endpoint} fields={FACTS} />
            </Section>
            <Deliveries endpoint_id={id} />
          </>
        )}
      </Await>
    </Page>
  )
}

const FACTS: readonly Column<WebhookEndpoint>[] = [
  ['Waiting', ({ lag }) => formatCount(lag, 'message')],
  ['The oldest waits for', ({ lag_seconds }) => formatCount(lag_seconds, 'second')],
  ['Events', ({ events }) => events?.join(', ') ?? 'all'],
  'failing_since',
  ['Last failure', ({ last_failure: last }) => last?.status ?? last?.error ?? 'none'],
  ['Last failure at', ({ last_failure }) => <Time at={last_failure?.at} />],
]

/** A test is always sent. */
const SELECTABLE = WEBHOOK_EVENTS.filter((event) => event !== 'webhook.test')
const EVENTS = SELECTABLE.map((name) => ({ label: name, name, kind: 'check' as const }))

/** All actions but the test. The rare ones are in a menu. */
function Actions({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { endpoint_id, url, state, events = SELECTABLE } = endpoint
  const verb = state === 'active' ? 'pause' : 'resume'
  return (
    <>
      <More>
        {url && (
          <>
            <FormButton
              label="Events"
              title="Which events?"
              submit="Save"
              fields={EVENTS}
              values={Object.fromEntries(events.map((each) => [each, 'true']))}
              send={(sent) => {
                const chosen = SELECTABLE.filter((event) => sent[event])
                // `null` for all, also those of later versions.
                const events = chosen.length === SELECTABLE.length ? null : chosen
                return client.webhooks.update({ endpoint_id, events })
              }}
            />
            <FormButton
              label="Replay"
              title="Replay events?"
              fields={[{ label: 'Since', name: 'since', kind: 'date' }]}
              values={{ since: new Date().toISOString().slice(0, 10) }}
              send={({ since }) => client.webhooks.replay({ endpoint_id, since })}
            >
              <p>
                Sends all events since this day (UTC) to <Text text={url} /> again. The receiver
                knows repeated events by their <code>webhook-id</code>.
              </p>
            </FormButton>
          </>
        )}
        <FormButton
          label="Remove"
          title="Remove this webhook?"
          isDangerous
          send={async () => {
            await setWebhook(endpoint, { webhook_url: undefined, webhook_secret: null })
            goTo(linkTo('webhooks'))
          }}
        >
          <p>
            <Text text={url} /> gets no more messages.
          </p>
        </FormButton>
      </More>
      {url && <ActionButton label={labelOf(verb)} act={() => client.webhooks[verb](endpoint_id)} />}
      <WebhookForm endpoint={endpoint} />
    </>
  )
}

function Warnings(endpoint: WebhookEndpoint) {
  const { endpoint_id, url, is_signed, is_private, unconfirmed_url } = endpoint
  const { unconfirmed_is_signed, unconfirmed_at } = endpoint
  return (
    <>
      {unconfirmed_url && (
        <Notice tone="warning" title="A session made a change that is not active yet">
          <p>
            {unconfirmed_url === url ? 'Same URL' : 'New URL'},{' '}
            {unconfirmed_is_signed ? 'new secret' : 'no secret'}: <Text text={unconfirmed_url} />
          </p>
          <ActionButton
            label="Confirm this URL"
            act={() =>
              client.webhooks.confirm({ endpoint_id, url: unconfirmed_url, unconfirmed_at })
            }
            isPrimary
          />
        </Notice>
      )}
      {url && !is_signed && (
        <Notice tone="warning" title="The messages are not signed">
          <p>Anyone can send such messages to your receiver. Generate a secret.</p>
        </Notice>
      )}
      {is_private && (
        <Notice tone="warning" title="The URL is http or private">
          <p>
            Only a server that runs with <code>--webhook-allow-private</code> sends to it.
          </p>
        </Notice>
      )}
    </>
  )
}

/** Sends a test, and waits for the answer of the receiver. */
async function sendTest(endpoint_id: string): Promise<NoticeProps> {
  const read = async () => (await client.webhooks.deliveries({ endpoint_id, limit: 10 })).deliveries
  const before = (await read()).map(({ webhook_id }) => webhook_id)
  await client.webhooks.test(endpoint_id)
  for (let attempt = 0; attempt < 60; attempt++) {
    const isNew = ({ type, webhook_id }: WebhookDelivery) =>
      type === 'webhook.test' && !before.includes(webhook_id)
    const { attempts, state, status, error, duration_ms } = (await read()).find(isNew) ?? {}
    if (attempts) {
      const title = status
        ? `The receiver answered ${status} after ${duration_ms} ms`
        : `The receiver did not answer: ${error}`
      if (state === 'delivered') return { tone: 'good', title }
      return { tone: 'bad', title: `The test failed. ${title}` }
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return { tone: 'warning', title: 'The test is still waiting' }
}
