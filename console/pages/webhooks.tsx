import { usePages } from '../data.ts'
import { Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'
import { WebhookPage } from './webhook.tsx'
import { EndpointState, lagOf } from './webhook-about.tsx'

export function Webhooks() {
  const { id } = usePlace()
  return id ? <WebhookPage id={id} /> : <List />
}

function List() {
  const client = useClient()
  const { project } = useScope()
  const project_id = project?.id
  const paged = usePages(
    async (page, signal) => {
      const query = { ...page, ...(project_id && { project_id }) }
      const { endpoints, next } = await client.webhooks.list(query, { signal })
      return { rows: endpoints, next }
    },
    [project_id],
  )
  return (
    <Page title="Webhooks" lead="The URLs that get a request for each change in the project">
      <Pages
        label="Endpoints"
        paged={paged}
        keyOf={({ endpoint_id }) => endpoint_id}
        columns={[
          {
            label: 'URL',
            cell: ({ endpoint_id, url, unconfirmed_url }) => (
              <a href={linkTo('webhooks', endpoint_id)}>{url || unconfirmed_url}</a>
            ),
          },
          { label: 'Of', cell: ({ store_id }) => store_id || 'the project' },
          { label: 'State', cell: (endpoint) => <EndpointState endpoint={endpoint} /> },
          { label: 'Waiting', cell: lagOf, isNumber: true },
        ]}
        empty={
          <Empty title="No webhook is set">
            <p>
              Set <code>webhook_url</code> and <code>webhook_secret</code> in the configuration of
              the project or of a store.
            </p>
            <a class="button primary" href={linkTo('projects', project_id)}>
              Configure the project
            </a>
          </Empty>
        }
      />
    </Page>
  )
}
