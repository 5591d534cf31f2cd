import type { NewStore, Project } from '../../client/manage.ts'
import { PROJECT_SECRETS } from '../../lib/domain/project.ts'
import { STORE_TYPES } from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { configFields, withSecrets } from '../parts/config.ts'
import { Copyable } from '../parts/copy.tsx'
import { Edit, textsOf } from '../parts/edit.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

export const PLATFORMS = ['mobile', 'web', 'desktop', 'ios', 'android']

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
                  ['Id', <code key="id">{project.id}</code>],
                  ['Bundle', <code key="bundle">{project.bundle_id}</code>],
                  ['Status', <Badge key="status" text={project.status} />],
                  ['Created', <Time key="at" at={project.created_at} />],
                ]}
              />
              <Copyable label="Public key" text={project.public_key} />
            </Section>
            <Stores project_id={id} />
            <Edit
              label="Edit project"
              record={project}
              fields={fieldsOf(project)}
              typedOf={textsOf}
              load={() => client.projects.get(id)}
              save={(changes, { config }) =>
                client.projects.update({ id, ...withSecrets(changes, 'config', config) })
              }
              onSaved={reload}
            />
          </>
        )}
      </Await>
    </Page>
  )
}

function fieldsOf({ platform, secrets }: Project): readonly FieldInfo[] {
  return [
    { label: 'Name', name: 'name' },
    { label: 'Platform', name: 'platform', options: [...new Set([...PLATFORMS, platform])] },
    {
      ...{ label: 'Status', name: 'status' },
      hint: 'active; a disabled or archived project opens no sessions.',
    },
    ...configFields('config', PROJECT_SECRETS, secrets),
  ]
}

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
          { label: 'Store', cell: ({ store_id: id }) => <a href={link(id)}>{id}</a> },
          { label: 'Type', cell: ({ store_type }) => store_type },
          {
            label: 'Kind',
            cell: ({ is_sandbox }) => <Badge text={is_sandbox ? 'sandbox' : 'live'} />,
          },
          { label: 'Status', cell: ({ status }) => <Badge text={status} /> },
        ]}
        empty={['The project has no store yet', 'A store sells items and takes purchases.']}
      />
      <div class="actions">
        <FormButton
          {...{ label: 'New store', submit: 'Create', fields: NEW_STORE }}
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

const NEW_STORE: readonly FieldInfo[] = [
  {
    ...{ label: 'Store id', name: 'store_id' },
    hint: 'Letters, digits, _ and -. Empty for a new id. It never changes.',
  },
  {
    ...{ label: 'Type', name: 'store_type', options: STORE_TYPES },
    hint: 'It never changes.',
  },
  {
    ...{ label: 'Currency', name: 'store_config.currency' },
    hint: 'Such as USD: the currency of prices that name none.',
    parse: (typed) => typed.toUpperCase(),
  },
  { label: 'Sandbox', name: 'is_sandbox', kind: 'check', hint: 'For test purchases' },
]

function newStore(project_id: string, typed: { readonly [name: string]: string }): NewStore {
  const { store_id, store_type, is_sandbox, 'store_config.currency': currency } = typed
  const platform = store_type === 'iap' && { platform: 'google_play' }
  const store_config = { ...(currency && { currency }), ...platform }
  const input = { project_id, store_type, is_sandbox, ...(store_id && { store_id }), store_config }
  return input as unknown as NewStore
}
