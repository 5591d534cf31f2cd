import { useState } from 'preact/hooks'
import type { ErrorDetail, JsonObject, ManageClient, WebhookEndpoint } from '../../client/manage.ts'
import { invalidFields } from '../../lib/domain/fields.ts'
import { showWebhookUrl, webhookUrl } from '../../lib/domain/webhook-settings.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Form, FormButton, type Parsed } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { Secret } from '../parts/secret.tsx'
import { goTo, linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

interface WebhookFormProps {
  /** The endpoint to change; a new one without it. */
  readonly endpoint?: WebhookEndpoint
  readonly label: string
  readonly onSaved?: () => void
}

/** A button for the URL and the secret of a webhook. Shows a generated secret once. */
export function WebhookForm({ endpoint, label, onSaved = () => {} }: WebhookFormProps) {
  const client = useClient()
  const { project, stores = [] } = useScope().value ?? {}
  const [typed, setTyped] = useState<Parsed>()
  const [saved, setSaved] = useState<{ readonly id: string; readonly secret: string }>()
  if (!project) return null
  const targets = [
    ['', `All events of the project ${project.name}`] as const,
    ...stores.map(({ store_id }) => [store_id, `Events of the store ${store_id}`] as const),
  ]
  const keeps = endpoint?.is_signed ? ([['keep', 'Keep the present one']] as const) : []
  const finish = (id: string, secret: string) => {
    setTyped(undefined)
    setSaved(undefined)
    if (secret) return setSaved({ id, secret })
    if (endpoint) onSaved()
    else goTo(linkTo('webhooks', id))
  }
  const save = async () => {
    const { store_id = endpoint?.store_id ?? '', url, secret: choice } = typed ?? {}
    const project_id = endpoint?.project_id ?? project.id
    const secret = choice === 'new' ? newSecret() : ''
    const change = {
      webhook_url: showWebhookUrl(url),
      ...(choice !== 'keep' && { webhook_secret: secret || null }),
    }
    await setWebhook(client, { project_id, store_id }, change)
    finish(store_id ? `${project_id}/${store_id}` : project_id, secret)
  }
  return (
    <>
      <FormButton
        {...{ label, submit: 'Continue', isPrimary: !endpoint }}
        fields={[
          ...(endpoint ? [] : [{ label: 'For', name: 'store_id', options: targets }]),
          {
            ...{ label: 'URL', name: 'url', width: 60 },
            hint: 'Of your server, such as https://shop.example/hook',
            parse: (typed) => typed.trim(),
          },
          {
            ...{ label: 'Secret', name: 'secret' },
            hint: 'Your server checks with it that a message is from this server.',
            options: [
              ...keeps,
              ['new', 'Generate a new one'],
              ['none', 'None: messages are not signed'],
            ],
          },
        ]}
        values={{
          store_id: '',
          url: endpoint?.url ?? '',
          secret: endpoint?.is_signed ? 'keep' : 'new',
        }}
        check={({ url, secret }) => checkUrl(url, secret, endpoint)}
        send={async (typed) => setTyped(typed)}
      />
      {typed && (
        <Dialog title="Send messages to this URL?" onClose={() => setTyped(undefined)}>
          <p>
            <code>{showWebhookUrl(typed.url)}</code>
          </p>
          {typed.secret === 'none' && <Unsigned />}
          <Form
            {...{
              label: 'Confirm',
              submit: 'Confirm this URL',
              fields: [],
              values: {},
              send: save,
            }}
            onChange={() => {}}
            onCancel={() => setTyped(undefined)}
          />
        </Dialog>
      )}
      {saved && (
        <Secret
          {...{ title: 'The webhook secret', text: saved.secret }}
          onClose={() => finish(saved.id, '')}
        />
      )}
    </>
  )
}

/** A warning for messages without a signature. */
export function Unsigned() {
  return (
    <Notice tone="warning" title="The messages are not signed">
      <p>Anyone can send such messages to your receiver. Generate a secret.</p>
    </Notice>
  )
}

function checkUrl(url: string, secret: string, endpoint: WebhookEndpoint | undefined): void {
  const problems: ErrorDetail[] = []
  webhookUrl(url, 'url', problems)
  if (problems.length === 0 && secret === 'keep' && showWebhookUrl(url) !== endpoint?.url) {
    const message = 'belongs to the former URL: generate a new one'
    problems.push({ field: 'secret', code: 'invalid', message })
  }
  if (problems.length > 0) throw invalidFields(problems)
}

/** 192 random bits in the form of Standard Webhooks. */
function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(24))))}`
}

type Owner = Pick<WebhookEndpoint, 'project_id' | 'store_id'>

/** Changes the settings of a webhook in the configuration of its project or store. */
export async function setWebhook(
  { projects, stores }: ManageClient,
  { project_id, store_id }: Owner,
  change: JsonObject,
): Promise<void> {
  if (store_id === '') {
    const { config, etag } = await projects.get(project_id)
    const settings = withStoredUrl(config, change)
    await projects.update({ id: project_id, config: merged(config, settings) }, { ifMatch: etag })
    return
  }
  const { store_config, etag } = await stores.get(store_id)
  const settings = {
    ...withStoredUrl(store_config, change),
    webhook_enabled: change.webhook_url !== undefined,
  }
  const changed = { store_id, store_config: merged(store_config, settings) }
  await stores.update(changed, { ifMatch: etag })
}

/**
 * For a change that keeps the secret, the URL as it is stored, because the server drops the secret
 * if the URL differs. Throws if another URL is stored meanwhile.
 */
function withStoredUrl({ webhook_url: stored }: JsonObject, change: JsonObject): JsonObject {
  const { webhook_url: url } = change
  if (typeof url !== 'string' || Object.hasOwn(change, 'webhook_secret')) return change
  if (typeof stored === 'string' && showWebhookUrl(stored) === url) {
    return { ...change, webhook_url: stored }
  }
  const message = 'belongs to another URL than the stored one: generate a new secret'
  throw invalidFields([{ field: 'secret', code: 'invalid', message }])
}

/** A setting that is undefined is removed. */
function merged(config: JsonObject, change: JsonObject): JsonObject {
  const entries = Object.entries({ ...config, ...change })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}
