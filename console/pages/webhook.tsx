import { useState } from 'preact/hooks'
import type { WebhookEndpoint } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Await, Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'
import { Deliveries } from './deliveries.tsx'
import { AboutEndpoint } from './webhook-about.tsx'

export function WebhookPage({ id }: { readonly id: string }) {
  const client = useClient()
  const loaded = useLoad((signal) => findEndpoint(signal), [id])
  const [round, setRound] = useState(0)
  const findEndpoint = async (signal: AbortSignal): Promise<WebhookEndpoint | null> => {
    const [project_id] = id.split('/')
    const query = { limit: 1000, ...(project_id && { project_id }) }
    const { endpoints } = await client.webhooks.list(query, { signal })
    return endpoints.find(({ endpoint_id }) => endpoint_id === id) ?? null
  }
  const refresh = () => {
    loaded.reload()
    setRound(round + 1)
  }
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
        {(endpoint) =>
          endpoint ? (
            <>
              <AboutEndpoint {...{ endpoint }} onChanged={refresh} />
              <Deliveries key={round} endpoint={endpoint} />
            </>
          ) : (
            <Notice tone="warning" title="There is no such webhook any more" />
          )
        }
      </Await>
    </Page>
  )
}
