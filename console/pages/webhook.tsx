import { useState } from 'preact/hooks'
import type { WebhookEndpoint } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { formatCount } from '../format.ts'
import { ActionButton, FormButton } from '../parts/form.tsx'
import { Await, Notice } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'
import { Deliveries } from './deliveries.tsx'

export function WebhookPage({ id }: { readonly id: string }) {
  const client = useClient()
  const [round, setRound] = useState(0)
  const loaded = useLoad((signal) => client.webhooks.get(id, { signal }), [id, round])
  const refresh = () => setRound((round) => round + 1)
  return (
    <Page
      title="Webhook"
      lead={<a href={linkTo('webhooks')}>All webhooks</a>}
      actions={
        <button type="button" onClick={refresh}>
          Refresh
        </button>
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

type Props = { readonly endpoint: WebhookEndpoint; readonly onChanged: () => void }

function Endpoint({ endpoint, onChanged }: Props) {
  const { webhooks } = useClient()
  const { endpoint_id: id, url, state, is_signed, last_failure, ...rest } = endpoint
  const act = (name: 'test' | 'pause' | 'resume') => () => webhooks[name](id).then(onChanged)
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
      {url && !is_signed && (
        <Notice tone="warning" title="The messages are not signed">
          <p>Anyone can send such messages to your receiver. Set a webhook_secret.</p>
        </Notice>
      )}
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
          <ActionButton act={act('test')}>Send a test</ActionButton>
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
