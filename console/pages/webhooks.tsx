import type { WebhookEndpoint } from '../../client/manage.ts'
import { endpointIdOf } from '../../lib/domain/endpoint.ts'
import { parseObject } from '../../lib/domain/fields.ts'
import { required } from '../../lib/domain/rules.ts'
import { showWebhookUrl, webhookUrl } from '../../lib/domain/webhook-settings.ts'
import { formatCount } from '../format.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton, type Parsed } from '../parts/form.tsx'
import { Badge, Page, Text } from '../parts/page.tsx'
import { showSecret } from '../parts/secret.tsx'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'

/** The webhooks of a project and its stores. */
export function Webhooks() {
  const project_id = useScope().value?.project?.id
  return (
    <Page
      title="Webhooks"
      lead="The URLs that get a request for each change in the project"
      actions={<WebhookForm />}
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

/** A button for the URL and the secret of an endpoint, or of a new one. Shows a new secret once. */
export function WebhookForm({ endpoint }: { readonly endpoint?: WebhookEndpoint }) {
  const { project, stores = [] } = useScope().value ?? {}
  if (!project) return null
  const targets = [
    ['', `All events of the project ${project.name}`] as const,
    ...stores.map(({ store_id }) => [store_id, `Events of the store ${store_id}`] as const),
  ]
  const target = { label: 'For', name: 'store_id', options: targets }
  const save = async ({ store_id, url, secret }: Parsed) => {
    const owner = endpoint ?? { project_id: project.id, store_id }
    const webhook_secret = secret === 'new' ? newSecret() : null
    await setWebhook(owner, { webhook_url: showWebhookUrl(url), webhook_secret })
    goTo(linkTo('webhooks', endpointIdOf(owner)))
    if (webhook_secret) showSecret('The webhook secret', webhook_secret)
  }
  return (
    <FormButton
      label={endpoint ? 'Change' : 'New webhook'}
      submit={endpoint ? 'Save the webhook' : 'Create the webhook'}
      isPrimary={!endpoint}
      fields={endpoint ? FIELDS : [target, ...FIELDS]}
      values={{ store_id: '', url: endpoint?.url ?? '', secret: 'new' }}
      check={({ url }) => parseObject({ url }, { url: required(webhookUrl) })}
      send={save}
    />
  )
}

const FIELDS: readonly FieldInfo[] = [
  {
    label: 'URL',
    name: 'url',
    width: 60,
    hint: (typed) =>
      typed
        ? `Messages go to ${showWebhookUrl(typed.trim())}`
        : 'Of your server, such as https://shop.example/hook',
    parse: (typed) => typed.trim(),
  },
  {
    label: 'Secret',
    name: 'secret',
    hint: 'Your server checks messages with it. A new one replaces the present one.',
    options: [
      ['new', 'Generate a new one'],
      ['none', 'None: anyone can send such messages to your server'],
    ],
  },
]

/** 192 random bits in the form of Standard Webhooks. */
function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))}`
}

/**
 * Changes the settings of a webhook in the configuration of its project or store. One that is
 * undefined is removed; `null` removes the secret.
 */
export async function setWebhook(
  { project_id, store_id }: Pick<WebhookEndpoint, 'project_id' | 'store_id'>,
  settings: { webhook_url: string | undefined; webhook_secret: string | null },
) {
  if (store_id === '') {
    const { config, etag } = await client.projects.get(project_id)
    const change = { id: project_id, config: { ...config, ...settings } }
    return client.projects.update(change, { ifMatch: etag })
  }
  const { store_config, etag } = await client.stores.get(store_id)
  const webhook_enabled = settings.webhook_url !== undefined
  const change = { store_id, store_config: { ...store_config, ...settings, webhook_enabled } }
  return client.stores.update(change, { ifMatch: etag })
}
