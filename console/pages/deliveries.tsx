import type { WebhookDelivery, WebhookDeliveryState, WebhookRequest } from '../../client/manage.ts'
import { WEBHOOK_DELIVERY_STATES } from '../../lib/domain/webhook.ts'
import { useLoad } from '../data.ts'
import { allOr } from '../parts/fields.tsx'
import { ActionButton, Filters } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Details, Facts, Section, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { usePlace } from '../place.ts'
import { client } from '../session.ts'

const FILTERS = [{ label: 'State', name: 'state', options: allOr(WEBHOOK_DELIVERY_STATES) }]

/** The messages to an endpoint, newest first. */
export function Deliveries({ endpoint_id }: { readonly endpoint_id: string }) {
  const state = usePlace().query.state as WebhookDeliveryState | undefined
  return (
    <Section title="Deliveries">
      <Filters fields={FILTERS} />
      <List
        label="Deliveries"
        list={client.webhooks.deliveries}
        query={{ endpoint_id, ...(state && { state }) }}
        interval={1_000}
        keyOf={({ webhook_id }) => webhook_id}
        columns={[
          'type',
          'at',
          'state',
          ['attempts', 'number hidden'],
          ['Answer', ({ status, error }) => status ?? error ?? '–'],
          ['Details', (delivery) => <Details content={<Exchange delivery={delivery} />} />, 'end'],
        ]}
        empty={['No deliveries', 'Send a test to see one here.']}
      />
    </Section>
  )
}

/** The request, which the server renders again from its log, and the answer of the last attempt. */
function Exchange({ delivery }: { readonly delivery: WebhookDelivery }) {
  const { endpoint_id, webhook_id, status, error, answer } = delivery
  const loaded = useLoad(client.webhooks.getRequest, { endpoint_id, webhook_id })
  return (
    <>
      <Facts
        of={delivery}
        fields={['duration_ms', ['Next attempt', ({ next_at }) => <Time at={next_at} />]]}
      />
      <h3>Request</h3>
      <Await loaded={loaded}>{(request) => <pre>{formatRequest(request)}</pre>}</Await>
      <p class="hint">As an attempt would send it now, without its signature.</p>
      <div class="actions">
        <ActionButton
          label="Resend"
          act={() => client.webhooks.resend({ endpoint_id, webhook_id })}
        />
      </div>
      <h3>Answer</h3>
      <pre>
        {status ?? error ?? 'none yet'}
        {answer && `\n\n${answer}`}
      </pre>
    </>
  )
}

function formatRequest({ url, headers, body }: WebhookRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const shown = body ? JSON.stringify(JSON.parse(body), null, 2) : 'The event is no longer kept.'
  return [`POST ${url}`, ...lines, '', shown].join('\n')
}
