import { useState } from 'preact/hooks'
import type { Store, StoreChange } from '../../client/manage.ts'
import { useAction, useLoad } from '../data.ts'
import { ConfigFields, changesOf, configDraft, parseConfig } from '../parts/config.tsx'
import { CheckField, TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Await, Notice } from '../parts/notice.tsx'
import { Facts, Page, Section, Time } from '../parts/page.tsx'
import { StatusBadge } from '../parts/status.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

/** The secrets of each type of store. */
const SECRETS: { readonly [type: string]: readonly string[] } = {
  web: ['webhook_secret'],
  iap: ['webhook_secret', 'shared_secret'],
  custom: ['webhook_secret', 'api_key'],
}

export function StorePage() {
  const client = useClient()
  const { id } = usePlace()
  const { stores } = useScope()
  const loaded = useLoad((signal) => client.stores.get(id, { signal }), [id])
  const project_id = loaded.value?.project_id
  const reload = () => {
    loaded.reload()
    stores.reload()
  }
  return (
    <Page
      title={`Store ${id}`}
      lead={project_id && <a href={linkTo('projects', project_id)}>The project</a>}
    >
      <Await loaded={loaded}>
        {(store) => (
          <>
            <Section title="Store">
              <Facts
                facts={[
                  ['Type', store.store_type],
                  ['Status', <StatusBadge key="status" status={store.status} />],
                  ['Created', <Time key="at" at={store.created_at} />],
                ]}
              />
            </Section>
            <Edit key={store.store_id} {...{ store }} onSaved={reload} />
          </>
        )}
      </Await>
    </Page>
  )
}

interface EditProps {
  readonly store: Store
  readonly onSaved: () => void
}

function Edit({ store, onSaved }: EditProps) {
  const client = useClient()
  const { store_id, store_type } = store
  const secretNames = SECRETS[store_type] ?? []
  /** What the changes are based on. */
  const [base, setBase] = useState(store)
  const [status, setStatus] = useState(store.status)
  const [is_sandbox, setSandbox] = useState(store.is_sandbox)
  const [config, setConfig] = useState(() => configDraft(store.store_config, store.secrets))
  const [mistake, setMistake] = useState<string>()
  const [saves, setSaves] = useState(0)
  const action = useAction(async () => {
    const store_config = parseConfig(config)
    setMistake(store_config ? undefined : 'must be a JSON object')
    if (!store_config) return false
    const changes = changesOf(base, { status, is_sandbox, store_config })
    const saved = await client.stores.update({ store_id, ...changes } as StoreChange)
    setBase(saved)
    setStatus(saved.status)
    setSandbox(saved.is_sandbox)
    setConfig(configDraft(saved.store_config, saved.secrets))
    setSaves(saves + 1)
    onSaved()
    return true
  })
  const names = ['status', 'store_config', ...secretNames.map((name) => `store_config.${name}`)]
  return (
    <Section title="Edit">
      <Form {...{ action, names, label: 'Edit store' }}>
        <TextField
          {...{ label: 'Status', name: 'status', value: status, onChange: setStatus }}
          hint="active; a disabled or archived store takes no purchases."
        />
        <CheckField label="Sandbox" isChecked={is_sandbox} onChange={setSandbox} />
        <ConfigFields
          key={saves}
          {...{ name: 'store_config', draft: config, onChange: setConfig, mistake, secretNames }}
        />
        {saves > 0 && !action.isRunning && action.error === undefined && (
          <Notice tone="good" title="Saved" />
        )}
      </Form>
    </Section>
  )
}
