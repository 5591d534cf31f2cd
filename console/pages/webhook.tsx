import { useState } from 'preact/hooks'
import type { ManageClient, WebhookDelivery, WebhookEndpoint } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { formatCount } from '../format.ts'
import { ActionButton, FormButton } from '../parts/form.tsx'
import { Await, Notice } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { goTo, linkTo } from '../place.ts'
import { useClient } from '../session.ts'
import { Deliveries } from './deliveries.tsx'
import { setWebhook, Unsigned, WebhookForm } from './webhook-form.tsx'

export function WebhookPage({ id }: { readonly id: string }) {
  const client = useClient()
  const [round, setRound] = useState(0)
  const loaded = useLoad(
    (signal) => client.webhooks.get(id, { signal }),
    [id, round],
    () => 1_000,
  )
  const refresh = () => setRound((round) => round + 1)
  return (
    <Page
      title="Webhook"
      lead={<a href={linkTo('webhooks')}>All webhooks</a>}
      actions={
        loaded.value && (
          <>
            <WebhookForm label="Change" endpoint={loaded.value} onSaved={refresh} />
            <RemoveButton endpoint={loaded.value} />
          </>
        )
      }
    >
      <Await loaded={loaded}>
        {(endpoint) => (
          <>
            <Endpoint endpoint={endpoint} onChanged={refresh} />
            <Deliveries endpoint_id={id} round={round} />
          </>
        )}
      </Await>
    </Page>
  )
}

function RemoveButton({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const client = useClient()
  const settings = { webhook_url: undefined, webhook_secret: null }
  return (
    <FormButton
      {...{ label: 'Remove', title: 'Remove this webhook?', isDangerous: true }}
      send={async () => {
        await setWebhook(client, endpoint, settings)
        goTo(linkTo('webhooks'))
      }}
    >
      <p>
        <code>{endpoint.url}</code> gets no more messages.
      </p>
    </FormButton>
  )
}

/** Sends a test, and waits for the answer of the receiver. */
async function sendTest(
  { webhooks }: ManageClient,
  endpoint_id: string,
): Promise<WebhookDelivery | undefined> {
  const newest = async () =>
    (await webhooks.deliveries({ endpoint_id, limit: 10 })).deliveries.find(
      ({ type }) => type === 'webhook.test',
    )
  const before = await newest()
  await webhooks.test(endpoint_id)
  for (let attempt = 0; attempt < 60; attempt++) {
    const delivery = await newest()
    const isNew = delivery && delivery.webhook_id !== before?.webhook_id
    if (isNew && delivery.attempts > 0) return delivery
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return undefined
}

type Props = { readonly endpoint: WebhookEndpoint; readonly onChanged: () => void }

function Endpoint({ endpoint, onChanged }: Props) {
  const client = useClient()
  const { webhooks } = client
  const [answer, setAnswer] = useState<WebhookDelivery | 'none'>()
  const { endpoint_id: id, url, state, is_signed, last_failure, ...rest } = endpoint
  const test = async () => {
    setAnswer(undefined)
    setAnswer((await sendTest(client, id)) ?? 'none')
    onChanged()
  }
  const act = (name: 'pause' | 'resume') => () => webhooks[name](id).then(onChanged)
  const { unconfirmed_url, unconfirmed_at } = rest
  const seen = { url: unconfirmed_url ?? '', ...(unconfirmed_at && { unconfirmed_at }) }
  const confirm = () => webhooks.confirm(id, seen).then(onChanged)
  return (
    <Section title={url || 'No confirmed URL'}>
      {unconfirmed_url && (
        <Notice tone="warning" title="A session made a change that is not active yet">
          <p>
            {unconfirmed_url === url ? 'Same URL' : 'New URL'},{' '}
            {rest.unconfirmed_is_signed ? 'new secret' : 'no secret'}:{' '}
            <code>{unconfirmed_url}</code>
          </p>
          <ActionButton act={confirm} isPrimary>
            Confirm this URL
          </ActionButton>
        </Notice>
      )}
      {url && !is_signed && <Unsigned />}
      {answer && <TestAnswer answer={answer} />}
      <Facts
        facts={[
          ['State', stateOf(endpoint)],
          ['Waiting', lagOf(endpoint)],
          ['Signed', is_signed ? 'yes' : 'no'],
          ['Failing since', <Time key="since" at={rest.failing_since} />],
          ['Last failure', last_failure ? (last_failure.status ?? last_failure.error) : 'none'],
          ['Last failure at', <Time key="at" at={last_failure?.at} />],
        ]}
      />
      {url && (
        <div class="actions">
          <ActionButton act={test}>Send a test</ActionButton>
          {state === 'active' ? (
            <ActionButton act={act('pause')}>Pause</ActionButton>
          ) : (
            <ActionButton act={act('resume')}>Resume</ActionButton>
          )}
          <FormButton
            {...{ label: 'Replay', title: 'Replay events?' }}
            fields={[{ label: 'Since', name: 'since', kind: 'date' }]}
            values={{ since: new Date().toISOString().slice(0, 10) }}
            send={({ since }) => webhooks.replay(id, { since }).then(onChanged)}
          >
            <p>
              Sends all events since this day (UTC) to <code>{url}</code> again. The receiver knows
              repeated events by their <code>webhook-id</code>.
            </p>
          </FormButton>
        </div>
      )}
    </Section>
  )
}

function TestAnswer({ answer }: { readonly answer: WebhookDelivery | 'none' }) {
  if (answer === 'none') return <Notice tone="warning" title="The test is still waiting" />
  const { state, status, error, duration_ms } = answer
  const title = status ? `The receiver answered ${status}` : `No answer: ${error}`
  return (
    <Notice tone={state === 'delivered' ? 'good' : 'bad'} {...{ title }}>
      <p>After {duration_ms} ms.</p>
    </Notice>
  )
}

/** How many messages wait, and for how long the oldest has waited. */
export function lagOf({ lag, lag_seconds }: WebhookEndpoint): string {
  if (lag === 0) return 'none'
  const [value, unit] = lag_seconds < 120 ? [lag_seconds, 'second'] : [lag_seconds / 60, 'minute']
  const options = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 0 } as const
  return `${formatCount(lag)}, ${value.toLocaleString(undefined, options)}`
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
