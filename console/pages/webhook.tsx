import { useState } from 'preact/hooks'
import type { WebhookEndpoint } from '../../client/manage.ts'
import { WEBHOOK_EVENTS } from '../../lib/domain/event.ts'
import { useLoad } from '../data.ts'
import { formatCount, labelOf } from '../format.ts'
import { ActionButton, FormButton, type Parsed } from '../parts/form.tsx'
import { Await, Notice, type NoticeProps } from '../parts/notice.tsx'
import { Badge, Facts, More, Page, Section, Text, Time } from '../parts/page.tsx'
import { goTo, linkTo } from '../place.ts'
import { client } from '../session.ts'
import { Deliveries } from './deliveries.tsx'
import { setWebhook, WebhookForm } from './webhook-form.tsx'

export function WebhookPage({ id }: { readonly id: string }) {
  const loaded = useLoad((signal) => client.webhooks.get(id, { signal }), [id], { interval: 1_000 })
  const [outcome, setOutcome] = useState<TestOutcome>()
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
            <Endpoint endpoint={endpoint} />
            <Deliveries endpoint_id={id} />
          </>
        )}
      </Await>
    </Page>
  )
}

/** A test is always sent. */
const SELECTABLE = WEBHOOK_EVENTS.filter((event) => event !== 'webhook.test')
const EVENTS = SELECTABLE.map((name) => ({ label: name, name, kind: 'check' as const }))

/** The selected events; null for all, also those of later versions. */
function selected(sent: Parsed) {
  const events = SELECTABLE.filter((event) => sent[event])
  return events.length === SELECTABLE.length ? null : events
}

type EndpointProps = { readonly endpoint: WebhookEndpoint }

/** All actions but the test. The rare ones are in a menu. */
function Actions({ endpoint }: EndpointProps) {
  const { endpoint_id: id, url, state, events } = endpoint
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
              values={Object.fromEntries((events ?? WEBHOOK_EVENTS).map((each) => [each, 'true']))}
              send={(sent) => client.webhooks.update({ endpoint_id: id, events: selected(sent) })}
            />
            <FormButton
              label="Replay"
              title="Replay events?"
              fields={[{ label: 'Since', name: 'since', kind: 'date' }]}
              values={{ since: new Date().toISOString().slice(0, 10) }}
              send={({ since }) => client.webhooks.replay({ endpoint_id: id, since })}
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
      {url && <ActionButton label={labelOf(verb)} act={() => client.webhooks[verb](id)} />}
      <WebhookForm label="Change" endpoint={endpoint} />
    </>
  )
}

function Endpoint({ endpoint }: EndpointProps) {
  const { url, is_signed, unconfirmed_url, events } = endpoint
  return (
    <>
      {unconfirmed_url && <Unconfirmed endpoint={endpoint} />}
      {url && !is_signed && (
        <Notice tone="warning" title="The messages are not signed">
          <p>Anyone can send such messages to your receiver. Generate a secret.</p>
        </Notice>
      )}
      {endpoint.is_private && (
        <Notice tone="warning" title="The URL is http or private">
          <p>
            Only a server that runs with <code>--webhook-allow-private</code> sends to it.
          </p>
        </Notice>
      )}
      <Section title="Endpoint">
        <Facts
          of={endpoint}
          fields={[
            ['Waiting', ({ lag }) => formatCount(lag, 'message')],
            ['The oldest waits for', ({ lag_seconds }) => formatCount(lag_seconds, 'second')],
            ['Events', () => events?.join(', ') ?? 'all'],
            'failing_since',
            ['Last failure', ({ last_failure: last }) => last?.status ?? last?.error ?? 'none'],
            ['Last failure at', ({ last_failure }) => <Time at={last_failure?.at} />],
          ]}
        />
      </Section>
    </>
  )
}

/** A URL or a secret that a session has set. It is not active until the account confirms it. */
function Unconfirmed({ endpoint }: EndpointProps) {
  const { endpoint_id, unconfirmed_url = '', unconfirmed_at, unconfirmed_is_signed } = endpoint
  const seen = { endpoint_id, url: unconfirmed_url, unconfirmed_at }
  return (
    <Notice tone="warning" title="A session made a change that is not active yet">
      <p>
        {unconfirmed_url === endpoint.url ? 'Same URL' : 'New URL'},{' '}
        {unconfirmed_is_signed ? 'new secret' : 'no secret'}: <Text text={unconfirmed_url} />
      </p>
      <ActionButton label="Confirm this URL" act={() => client.webhooks.confirm(seen)} isPrimary />
    </Notice>
  )
}

type TestOutcome = Pick<NoticeProps, 'tone' | 'title'>

/** Sends a test, and waits for the answer of the receiver. */
async function sendTest(endpoint_id: string): Promise<TestOutcome> {
  const read = async () => (await client.webhooks.deliveries({ endpoint_id, limit: 10 })).deliveries
  const before = (await read()).map(({ webhook_id }) => webhook_id)
  await client.webhooks.test(endpoint_id)
  for (let attempt = 0; attempt < 60; attempt++) {
    const found = (await read()).find(
      ({ type, webhook_id, attempts }) =>
        type === 'webhook.test' && attempts > 0 && !before.includes(webhook_id),
    )
    if (found?.status) {
      const isGood = found.state === 'delivered'
      const title = `The receiver answered ${found.status} after ${found.duration_ms} ms`
      return { tone: isGood ? 'good' : 'bad', title: isGood ? title : `The test failed. ${title}` }
    }
    if (found) return { tone: 'bad', title: `The receiver did not answer: ${found.error}` }
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return { tone: 'warning', title: 'The test is still waiting' }
}

const REASONS = { gone: 'the receiver answered 410', secret: 'no master key opens the secret' }

export function stateOf({ state, reason, failing_since, url, is_signed }: WebhookEndpoint) {
  return (
    <>
      <Badge text={state} /> {reason && REASONS[reason]}
      {failing_since && <Badge text="failing" />}
      {url && !is_signed && <Badge text="unsigned" />}
    </>
  )
}
