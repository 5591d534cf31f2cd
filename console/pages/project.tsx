import type { NewStore } from '../../client/manage.ts'
import {
  changeProject,
  PROJECT_SECRETS,
  parseProjectChange,
  projectChangeFields,
  statusFields,
} from '../../lib/domain/project.ts'
import { newStoreFields, parseNewStore, STORE_TYPES } from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { Copyable } from '../parts/copy.tsx'
import { EditConfigured } from '../parts/edit.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton, type Parsed } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { fieldsOf, statusField } from '../parts/rules.ts'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

export function ProjectPage({ id }: { readonly id: string }) {
  const client = useClient()
  const scope = useScope()
  const loaded = useLoad((signal) => client.projects.get(id, { signal }), [id])
  const reload = () => {
    loaded.reload()
    scope.reload()
  }
  return (
    <Page
      title={loaded.value?.name ?? 'Project'}
      lead={<a href={linkTo('projects')}>All projects</a>}
      actions={
        <FormButton
          {...{
            label: 'Change the public key',
            title: 'Change the public key?',
            isDangerous: true,
          }}
          submit="Change the key"
          send={async () => {
            await client.projects.rotateKey(id)
            reload()
          }}
        >
          <p>
            The project gets a new public key. Clients with the former key open no more sessions
            after one day. Put the new key into your clients before that.
          </p>
        </FormButton>
      }
    >
      <Await loaded={loaded}>
        {(project) => (
          <>
            <Section title="Project">
              <Facts
                facts={[
                  ['Id', <Copyable key="id" label="the id" text={project.id} />],
                  ['Bundle', <Copyable key="bundle" label="the bundle" text={project.bundle_id} />],
                  ['Status', <Badge key="status" text={project.status} />],
                  ['Created', <Time key="at" at={project.created_at} />],
                  ['Public key', <Copyable key="key" label="the key" text={project.public_key} />],
                ]}
              />
            </Section>
            <Stores project_id={id} />
            <EditConfigured
              label="Edit project"
              record={project}
              name="config"
              config={({ config }) => config}
              fields={fieldsOf(RULES, { ...UNCHANGED, status: statusField(project) })}
              schema={RULES.config.schema}
              secrets={PROJECT_SECRETS}
              load={() => client.projects.get(id)}
              check={(changes, current) =>
                changeProject(current, parseProjectChange({ id, ...changes }, 'account'))
              }
              save={(changes, { etag }) =>
                client.projects.update({ id, ...changes }, { ifMatch: etag })
              }
              onSaved={reload}
            />
          </>
        )}
      </Await>
    </Page>
  )
}

/** The fields that have no control of their own. */
const UNCHANGED = { id: false, config: false, account_id: false } as const

const RULES = { ...projectChangeFields, ...statusFields }

function Stores({ project_id }: { readonly project_id: string }) {
  const client = useClient()
  const scope = useScope()
  const link = (store: string) => linkTo('stores', store, { project: project_id, store })
  return (
    <Section title="Stores">
      <List
        label="Stores"
        load={(page, options) => client.stores.list({ project_id, ...page }, options)}
        of="stores"
        inputs={[project_id]}
        keyOf={({ store_id }) => store_id}
        columns={[
          ['Store', ({ store_id: id }) => <a href={link(id)}>{id}</a>],
          ['Type', ({ store_type }) => store_type],
          ['Kind', ({ is_sandbox }) => <Badge text={is_sandbox ? 'sandbox' : 'live'} />],
          ['status', 'end'],
        ]}
        empty={['The project has no store yet', 'A store sells items and takes purchases.']}
      />
      <div class="actions">
        <FormButton
          {...{ label: 'New store', submit: 'Create', fields: [...NEW_STORE, CURRENCY] }}
          check={(typed) => parseNewStore(newStore(project_id, typed))}
          values={{ store_type: 'web' }}
          send={async (typed, creation) => {
            const input = newStore(project_id, typed)
            const { store_id } = await client.stores.create(input, creation)
            scope.reload()
            goTo(link(store_id))
          }}
        />
      </div>
    </Section>
  )
}

const NEW_STORE = fieldsOf(newStoreFields.web, {
  ...{ project_id: false, status: false, store_config: false },
  store_id: {
    hint: 'Letters, digits, _ and -. Empty for a new id. It never changes.',
    isOptional: true,
  },
  store_type: { label: 'Type', hint: 'It never changes.', options: STORE_TYPES },
  is_sandbox: { label: 'Sandbox', hint: 'For test purchases' },
})

const CURRENCY: FieldInfo = {
  ...{ label: 'Currency', name: 'store_config.currency', width: 8, isOptional: true },
  hint: 'Such as USD: the currency of prices that name none.',
  parse: (typed) => typed.toUpperCase(),
}

function newStore(project_id: string, typed: Parsed): NewStore {
  const { 'store_config.currency': currency, ...rest } = typed
  const platform = rest.store_type === 'iap' && { platform: 'google_play' }
  return {
    project_id,
    ...rest,
    store_config: { ...(currency && { currency }), ...platform },
  } as never
}
