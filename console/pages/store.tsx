import type { Store } from '../../client/manage.ts'
import {
  changeStore,
  newStoreFields,
  parseStoreChange,
  SECRETS_OF_TYPE,
} from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { Copyable } from '../parts/copy.tsx'
import { EditConfigured } from '../parts/edit.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Facts, Page, Section, Time } from '../parts/page.tsx'
import { fieldsOf, statusField } from '../parts/rules.ts'
import { linkTo, usePlace } from '../place.ts'
import { useScope } from '../scope.tsx'
import { useClient } from '../session.ts'

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
        {(store) => (
          <>
            <Section title="Store">
              <Facts
                facts={[
                  ['Id', <Copyable key="id" label="the id" text={id} />],
                  ['Type', store.store_type],
                  ['Status', <Badge key="status" text={store.status} />],
                  ['Created', <Time key="at" at={store.created_at} />],
                ]}
              />
            </Section>
            <EditStore {...{ store }} onSaved={reload} />
          </>
        )}
      </Await>
    </Page>
  )
}

function EditStore({ store, onSaved }: { readonly store: Store; readonly onSaved: () => void }) {
  const { stores } = useClient()
  const { store_id, store_type } = store
  const { is_sandbox, status, store_config } = newStoreFields[store_type]
  return (
    <EditConfigured
      label="Edit store"
      record={store}
      name="store_config"
      config={({ store_config }) => store_config}
      fields={fieldsOf(
        { status, is_sandbox },
        {
          status: statusField(store),
          is_sandbox: { label: 'Sandbox' },
        },
      )}
      schema={store_config.schema}
      secrets={SECRETS_OF_TYPE[store_type]}
      load={() => stores.get(store_id)}
      check={(changes, current) =>
        changeStore(current, parseStoreChange({ store_id, ...changes }, store_type))
      }
      save={(changes, { etag }) => stores.update({ store_id, ...changes }, { ifMatch: etag })}
      onSaved={onSaved}
    />
  )
}
