import { Page } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { lagOf, stateOf, WebhookPage } from './webhook.tsx'

export function Webhooks() {
  const { id } = usePlace()
  return id ? <WebhookPage id={id} /> : <WebhookList />
}

function WebhookList() {
  const client = useClient()
  const project_id = useScope().value?.project?.id
  const query = project_id ? { project_id } : {}
  return (
    <Page title="Webhooks" lead="The URLs that get a request for each change in the project">
      <List
        label="Endpoints"
        load={(page, options) => client.webhooks.list({ ...query, ...page }, options)}
        of="endpoints"
        inputs={[project_id]}
        keyOf={({ endpoint_id }) => endpoint_id}
        columns={[
          {
            label: 'URL',
            cell: ({ endpoint_id, url, unconfirmed_url }) => (
              <a href={linkTo('webhooks', endpoint_id)}>{url || unconfirmed_url}</a>
            ),
          },
          { label: 'Of', cell: ({ store_id }) => store_id || 'the project' },
          { label: 'State', cell: stateOf },
          { label: 'Waiting', cell: lagOf, isNumber: true },
        ]}
        empty={[
          'No webhook is set',
          'Set webhook_url and webhook_secret in the configuration of the project or of a store.',
          <a key="next" class="button primary" href={linkTo('projects', project_id)}>
            Configure the project
          </a>,
        ]}
      />
    </Page>
  )
}
