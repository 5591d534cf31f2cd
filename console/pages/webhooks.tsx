import { formatCount } from '../format.ts'
import { Page, Text } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'
import { stateOf } from './webhook.tsx'
import { WebhookForm } from './webhook-form.tsx'

export function Webhooks() {
  const project_id = useScope().value?.project?.id
  return (
    <Page
      title="Webhooks"
      lead="The URLs that get a request for each change in the project"
      actions={<WebhookForm label="New webhook" />}
    >
      <List
        label="Endpoints"
        list={client.webhooks.list}
        query={{ ...(project_id && { project_id }) }}
        interval={5_000}
        columns={[
          [
            'URL',
            ({ endpoint_id: id, url, unconfirmed_url: next = '' }) => (
              <Text text={url || next} href={linkTo('webhooks', id)} />
            ),
          ],
          ['State', stateOf],
          ['Of', ({ store_id }) => (store_id ? <Text text={store_id} /> : 'the project')],
          ['Waiting', ({ lag }) => formatCount(lag), 'number end'],
        ]}
        empty={[
          'No webhook is set',
          'A webhook tells your server of each change, such as a new purchase. Choose New webhook to set one.',
        ]}
      />
    </Page>
  )
}
