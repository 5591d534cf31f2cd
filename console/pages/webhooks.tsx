import { Page } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { lagOf, stateOf, WebhookPage } from './webhook.tsx'
import { WebhookForm } from './webhook-form.tsx'

export function Webhooks() {
  const { id } = usePlace()
  return id ? <WebhookPage id={id} /> : <WebhookList />
}

function WebhookList() {
  const client = useClient()
  const project_id = useScope().value?.project?.id
  const query = project_id ? { project_id } : {}
  return (
    <Page
      title="Webhooks"
      lead="The URLs that get a request for each change in the project"
      actions={<WebhookForm label="New webhook" />}
    >
      <List
        label="Endpoints"
        load={(page, options) => client.webhooks.list({ ...query, ...page }, options)}
        of="endpoints"
        inputs={[project_id]}
        keyOf={({ endpoint_id }) => endpoint_id}
        columns={[
          [
            'URL',
            ({ endpoint_id, url, unconfirmed_url }) => (
              <a href={linkTo('webhooks', endpoint_id)}>{url || unconfirmed_url}</a>
            ),
          ],
          ['Of', ({ store_id }) => store_id || 'the project'],
          ['State', stateOf],
          ['Waiting', lagOf, 'number end'],
        ]}
        pause={5_000}
        empty={[
          'No webhook is set',
          'A webhook tells your server of each change, such as a new purchase.',
          <WebhookForm key="next" label="Set the first webhook" />,
        ]}
      />
    </Page>
  )
}
