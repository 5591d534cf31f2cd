import type { NewStore, Project } from '../../client/manage.ts'
import {
  changeProject,
  PROJECT_SECRETS,
  parseProjectChange,
  projectChangeFields,
  statusFields,
} from '../../lib/domain/project.ts'
import {
  newStoreFields,
  parseNewStore,
  STORE_TYPES,
  type StoreType,
} from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { Edit } from '../parts/edit.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton, type Parsed } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, More, Page, Section, Text } from '../parts/page.tsx'
import { fieldsOf, STATUS, settingFields, withSettings } from '../parts/rules.ts'
import { List } from '../parts/table.tsx'
import { goTo, linkTo } from '../place.ts'
import { client } from '../session.ts'
import { storeFields } from './store.tsx'

export function ProjectPage({ id }: { readonly id: string }) {
  const loaded = useLoad(client.projects.get, id)
  return (
    <Page
      title={loaded.value?.name ?? 'Project'}
      parent={['Projects and stores', linkTo('projects')]}
      badge={loaded.value?.status}
      actions={
        <More>
          <RotateButton id={id} />
        </More>
      }
    >
      <Await loaded={loaded}>
        {(project) => (
          <>
            <Section title="Project">
              <Facts of={project} fields={['id', 'public_key', 'bundle_id', 'created_at']} />
            </Section>
            <Stores project_id={id} />
            <Section title="Edit">
              <Edit
                label="Edit project"
                record={project}
                fields={fieldsFor(project)}
                load={() => client.projects.get(id)}
                check={(changes, current) =>
                  changeProject(current, parseProjectChange({ id, ...changes }, 'account'))
                }
                save={(changes, { etag }) =>
                  client.projects.update({ id, ...changes }, { ifMatch: etag })
                }
              />
            </Section>
          </>
        )}
      </Await>
    </Page>
  )
}

function fieldsFor({ secrets }: Project) {
  const { id: _, config, ...fields } = { ...projectChangeFields, ...statusFields }
  return [
    ...fieldsOf(fields, { status: STATUS, platform: { hint: '' } }),
    ...settingFields('config', config, PROJECT_SECRETS, secrets),
  ]
}

function RotateButton({ id }: { readonly id: string }) {
  return (
    <FormButton
      label="Change the public key"
      title="Change the public key?"
      isDangerous
      submit="Change the key"
      send={() => client.projects.rotateKey({ id })}
    >
      <p>
        The project gets a new public key. Clients with the former key open no more sessions after
        one day. Put the new key into your clients before that.
      </p>
    </FormButton>
  )
}

function Stores({ project_id }: { readonly project_id: string }) {
  const link = (store: string) => linkTo('stores', store, { project: project_id, store })
  return (
    <Section
      title="Stores"
      actions={
        <FormButton
          label="New store"
          submit="Create"
          fields={({ store_type }) => newFields(store_type as StoreType)}
          check={(typed) => parseNewStore(newStore(project_id, typed))}
          values={{ store_type: 'web', 'store_config.platform': 'google_play' }}
          send={async (typed, creation) => {
            const { store_id } = await client.stores.create(newStore(project_id, typed), creation)
            goTo(link(store_id))
          }}
        />
      }
    >
      <List
        label="Stores"
        list={client.stores.list}
        query={{ project_id }}
        columns={[
          ['Store', ({ store_id: id }) => <Text text={id} href={link(id)} />],
          ['status', 'end'],
          'store_type',
          ['Kind', ({ is_sandbox }) => <Badge text={is_sandbox ? 'sandbox' : 'live'} />],
        ]}
        empty={['The project has no store yet', 'A store sells items and takes purchases.']}
      />
    </Section>
  )
}

/** The fields of a new store. The page of the store has all settings. */
function newFields(type: StoreType) {
  const { store_id, store_type } = newStoreFields[type]
  const own = {
    store_id: {
      hint: 'Letters, digits, _ and -. Empty for a new id. It never changes.',
      isOptional: true,
    },
    store_type: { label: 'Type', hint: 'It never changes.', options: STORE_TYPES },
  }
  const isFirst = ({ name }: FieldInfo) => /sandbox|currency|platform|bundle_id/.test(name)
  return [...fieldsOf({ store_id, store_type }, own), ...storeFields(type).filter(isFirst)]
}

/** The store of a form, whose settings are fields like `store_config.currency`. */
function newStore(project_id: string, typed: Parsed): NewStore {
  return { project_id, store_config: {}, ...withSettings(typed, { store_config: {} }) } as NewStore
}
