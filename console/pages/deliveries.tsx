import { useState } from 'preact/hooks'
import type { WebhookDelivery, WebhookDeliveryState, WebhookRequest } from '../../client/manage.ts'
import { WEBHOOK_DELIVERY_STATES } from '../../lib/domain/webhook.ts'
import { useLoad } from '../data.ts'
import { allOr } from '../parts/fields.tsx'
import { Filters, type Values } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Facts, Section, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { useClient } from '../session.ts'

const FILTERS = [{ label: 'State', name: 'state', options: allOr(WEBHOOK_DELIVERY_STATES) }]

interface DeliveriesProps {
  readonly endpoint_id: string
  /** A change loads the list again. */
  readonly round: number
}

/** The messages to an endpoint, newest first. */
export function Deliveries({ endpoint_id, round }: DeliveriesProps) {
  const client = useClient()
  const [values, setValues] = useState<Values>({})
  const state = values.state as WebhookDeliveryState | undefined
  const query = { endpoint_id, ...(state && { state }) }
  return (
    <Section title="Deliveries">
      <Filters fields={FILTERS} values={values} onChange={setValues} />
      <List
        label="Deliveries"
        load={(page, options) => client.webhooks.deliveries({ ...query, ...page }, options)}
        of="deliveries"
        inputs={[query, round]}
        pause={1_000}
        keyOf={({ webhook_id }) => webhook_id}
        columns={[
          'type',
          'at',
          'state',
          ['attempts', 'number hidden'],
          ['Answer', ({ status, error }) => status ?? error ?? '–'],
          ['Details', (delivery) => <Exchange delivery={delivery} />, 'end'],
        ]}
        empty={['No deliveries', 'Send a test to see one here.']}
      />
    </Section>
  )
}

/** The request and the answer of the last attempt. */
function Exchange({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { status, error, answer, duration_ms, next_at } = delivery
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>Show</summary>
      <Facts
        facts={[
          ['Duration', duration_ms === undefined ? '–' : `${duration_ms} ms`],
          ['Next attempt', <Time key="next" at={next_at} />],
        ]}
      />
      <h3>Request</h3>
      {isOpen && <Request delivery={delivery} />}
      <h3>Answer</h3>
      <pre>
        {status ?? error ?? 'none yet'}
        {answer && `\n\n${answer}`}
      </pre>
    </details>
  )
}

/** The request, which the server renders again from its log. */
function Request({ delivery: { endpoint_id, webhook_id } }: { delivery: WebhookDelivery }) {
  const { webhooks } = useClient()
  const key = { endpoint_id, webhook_id }
  const loaded = useLoad(
    (signal) => webhooks.getRequest(key, { signal }),
    [endpoint_id, webhook_id],
  )
  return (
    <Await loaded={loaded}>
      {(request) => (
        <>
          <pre>{formatRequest(request)}</pre>
          <p class="hint">As an attempt would send it now, without its signature.</p>
        </>
      )}
    </Await>
  )
}

function formatRequest({ url, headers, body }: WebhookRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const shown = body ? JSON.stringify(JSON.parse(body), null, 2) : 'The event is no longer kept.'
  return [`POST ${url}`, ...lines, '', shown].join('\n')
}
