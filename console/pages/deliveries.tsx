import { useState } from 'preact/hooks'
import type { WebhookDelivery, WebhookDeliveryState, WebhookEndpoint } from '../../client/manage.ts'
import { usePages } from '../data.ts'
import { SelectField } from '../parts/fields.tsx'
import { Empty } from '../parts/notice.tsx'
import { Badge, Facts, Section, Time } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { useClient } from '../session.ts'

const STATES = [
  ['', 'All'],
  ['waiting', 'Waiting'],
  ['delivered', 'Delivered'],
  ['failed', 'Failed'],
] as const

const TONES = { waiting: 'warning', delivered: 'good', failed: 'bad' } as const

/** The messages to an endpoint, newest first. */
export function Deliveries({ endpoint }: { readonly endpoint: WebhookEndpoint }) {
  const client = useClient()
  const { endpoint_id, url } = endpoint
  const [state, setState] = useState('')
  const paged = usePages(
    async (page, signal) => {
      const query = { ...page, ...(state && { state: state as WebhookDeliveryState }) }
      const found = await client.webhooks.deliveries({ endpoint_id, ...query }, { signal })
      return { rows: found.deliveries, next: found.next }
    },
    [endpoint_id, state],
  )
  return (
    <Section title="Deliveries">
      <div class="filters">
        <SelectField
          {...{ label: 'State', name: 'state', value: state, onChange: setState, options: STATES }}
        />
      </div>
      <Pages
        label="Deliveries"
        paged={paged}
        keyOf={({ webhook_id }) => webhook_id}
        columns={[
          { label: 'Last attempt', cell: ({ at }) => <Time at={at} /> },
          { label: 'Event', cell: ({ type }) => type },
          { label: 'State', cell: ({ state }) => <Badge tone={TONES[state]} text={state} /> },
          { label: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true },
          { label: 'Answer', cell: ({ status, error }) => status ?? error ?? '–' },
          { label: 'Details', cell: (delivery) => <Exchange {...{ url, delivery }} /> },
        ]}
        empty={
          <Empty title="No deliveries">
            <p>Send a test to see one here.</p>
          </Empty>
        }
      />
    </Section>
  )
}

/** The request and the answer of the last attempt. */
function Exchange({ url, delivery }: { readonly url: string; readonly delivery: WebhookDelivery }) {
  const { webhook_id, sequence, type, status, error, answer, duration_ms, next_at } = delivery
  const request = `POST ${url}\nwebhook-id: ${webhook_id}\n\n{"type":"${type}","sequence":${sequence},…}`
  return (
    <details>
      <summary>Show</summary>
      <Facts
        facts={[
          ['Duration', duration_ms === undefined ? '–' : `${duration_ms} ms`],
          ['Next attempt', <Time key="next" at={next_at} />],
        ]}
      />
      <h3>Request</h3>
      <pre>{request}</pre>
      <h3>Answer</h3>
      <pre>
        {status ?? error ?? 'none yet'}
        {answer && `\n\n${answer}`}
      </pre>
    </details>
  )
}
