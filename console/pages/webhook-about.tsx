import { useState } from 'preact/hooks'
import type { WebhookEndpoint } from '../../client/manage.ts'
import { useAction } from '../data.ts'
import { formatCount } from '../format.ts'
import { Confirm } from '../parts/dialog.tsx'
import { TextField } from '../parts/fields.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { Badge, Facts, Section, Time } from '../parts/page.tsx'
import { useClient } from '../session.ts'

interface AboutProps {
  readonly endpoint: WebhookEndpoint
  readonly onChanged: () => void
}

export function AboutEndpoint({ endpoint, onChanged }: AboutProps) {
  const client = useClient()
  const { endpoint_id: id, url, state, unconfirmed_url, is_signed, last_failure } = endpoint
  const [isReplaying, setReplaying] = useState(false)
  const act = useAction(async (name: 'test' | 'pause' | 'resume') => {
    await client.webhooks[name](id)
    onChanged()
  })
  const confirm = useAction(async () => {
    await client.webhooks.confirm(id, unconfirmed_url === undefined ? {} : { url: unconfirmed_url })
    onChanged()
  })
  return (
    <Section title={url || 'No confirmed URL'}>
      {unconfirmed_url && (
        <Notice tone="warning" title="A session set another URL, which receives nothing yet">
          <p>
            <code>{unconfirmed_url}</code>
          </p>
          <button type="button" class="primary" onClick={() => confirm.run()}>
            Confirm this URL
          </button>
        </Notice>
      )}
      <Facts
        facts={[
          ['State', <EndpointState key="state" endpoint={endpoint} />],
          ['Waiting', lagOf(endpoint)],
          ['Signed', is_signed ? 'yes' : 'no: set a webhook_secret'],
          ['Failing since', <Time key="since" at={endpoint.failing_since} />],
          [
            'Last failure',
            last_failure ? (
              <span key="failure">
                {last_failure.status ?? last_failure.error} · <Time at={last_failure.at} />
              </span>
            ) : (
              'none'
            ),
          ],
        ]}
      />
      <Failure error={act.error ?? confirm.error} />
      {url && (
        <div class="actions">
          <button type="button" onClick={() => act.run('test')}>
            Send a test
          </button>
          {state === 'active' ? (
            <button type="button" onClick={() => act.run('pause')}>
              Pause
            </button>
          ) : (
            <button type="button" onClick={() => act.run('resume')}>
              Resume
            </button>
          )}
          <button type="button" onClick={() => setReplaying(true)}>
            Replay
          </button>
        </div>
      )}
      {isReplaying && (
        <Replay {...{ endpoint }} onClose={() => setReplaying(false)} onReplayed={onChanged} />
      )}
    </Section>
  )
}

interface ReplayProps {
  readonly endpoint: WebhookEndpoint
  readonly onClose: () => void
  readonly onReplayed: () => void
}

function Replay({ endpoint: { endpoint_id, url }, onClose, onReplayed }: ReplayProps) {
  const client = useClient()
  const [since, setSince] = useState(new Date().toISOString().slice(0, 10))
  const replay = async () => {
    await client.webhooks.replay(endpoint_id, { since })
    onReplayed()
  }
  return (
    <Confirm title="Replay events?" verb="Replay" onConfirm={replay} onClose={onClose}>
      <p>
        Sends all events since this day (UTC) to <code>{url}</code> again. The receiver knows
        repeated events by their <code>webhook-id</code>.
      </p>
      <TextField
        {...{ label: 'Since', name: 'since', type: 'date', value: since, onChange: setSince }}
      />
    </Confirm>
  )
}

/** How many messages wait, and for how long the oldest has waited. */
export function lagOf({ lag, lag_seconds }: WebhookEndpoint): string {
  if (lag === 0) return 'none'
  const [value, unit] = lag_seconds < 120 ? [lag_seconds, 'second'] : [lag_seconds / 60, 'minute']
  const options = { style: 'unit', unit, unitDisplay: 'short', maximumFractionDigits: 0 } as const
  return `${formatCount(lag)}, ${value.toLocaleString(undefined, options)}`
}

const TONES = {
  active: 'good',
  unconfirmed: 'warning',
  paused: 'warning',
  disabled: 'bad',
} as const
const REASONS = { gone: 'the receiver answered 410', secret: 'no master key opens the secret' }

export function EndpointState({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const { state, reason, failing_since } = endpoint
  return (
    <>
      <Badge tone={TONES[state]} text={state} /> {reason && REASONS[reason]}
      {failing_since && <Badge tone="bad" text="failing" />}
    </>
  )
}
