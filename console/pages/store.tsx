import { SECRETS_OF_TYPE } from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { configFields, withSecrets } from '../parts/config.ts'
import { Edit, textsOf } from '../parts/edit.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

const FIELDS = [
  {
    ...{ label: 'Status', name: 'status' },
    hint: 'active; a disabled or archived store takes no purchases.',
  },
  { label: 'Sandbox', name: 'is_sandbox', kind: 'check' },
] as const

export function StorePage() {
  const client = useClient()
  const { id } = usePlace()
  const scope = useScope()
  const loaded = useLoad((signal) => client.stores.get(id, { signal }), [id])
  const project_id = loaded.value?.project_id
  const reload = () => {
    loaded.reload()
    scope.reload()
  }
  return (
    <Page
      title={`Store ${id}`}
      lead={project_id && <a href={linkTo('projects', project_id)}>The project</a>}
    >
      <Await loaded={loaded}>
        {({ store_type, status, created_at, secrets, ...store }) => (
          <>
            <Section title="Store">
              <Facts
                facts={[
                  ['Type', store_type],
                  ['Status', <Badge key="status" text={status} />],
                  ['Created', <Time key="at" at={created_at} />],
                ]}
              />
            </Section>
            <Edit
              label="Edit store"
              record={{ ...store, store_type, status, created_at }}
              fields={[
                ...FIELDS,
                ...configFields('store_config', SECRETS_OF_TYPE[store_type], secrets),
              ]}
              typedOf={textsOf}
              load={() => client.stores.get(id)}
              save={(changes, { store_config }) => {
                const sent = withSecrets(changes, 'store_config', store_config)
                return client.stores.update({ store_id: id, ...sent })
              }}
              onSaved={reload}
            />
          </>
        )}
      </Await>
    </Page>
  )
}
