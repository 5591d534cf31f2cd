import type { Store } from '../../client/manage.ts'
import {
  changeStore,
  newStoreFields,
  parseStoreChange,
  SECRETS_OF_TYPE,
} from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { Edit } from '../parts/edit.tsx'
import { Await } from '../parts/notice.tsx'
import { Facts, Page, Section } from '../parts/page.tsx'
import { fieldsOf, STATUS, settingFields } from '../parts/rules.ts'
import { linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'

export function StorePage({ id: store_id }: { readonly id: string }) {
  const loaded = useLoad((signal) => client.stores.get(store_id, { signal }), [store_id])
  const project_id = loaded.value?.project_id
  const project = useScope().value?.projects.find(({ id }) => id === project_id)
  return (
    <Page
      title={`Store ${store_id}`}
      isId
      parent={[project?.name ?? 'Project', linkTo('projects', project_id)]}
      badge={loaded.value?.status}
    >
      <Await loaded={loaded}>
        {(store) => (
          <>
            <Section title="Store">
              <Facts of={store} fields={['store_id', 'store_type', 'created_at']} />
            </Section>
            <Section title="Edit">
              <Edit
                label="Edit store"
                record={store}
                fields={fieldsFor(store)}
                load={() => client.stores.get(store_id)}
                check={(changes, current) =>
                  changeStore(current, parseStoreChange({ store_id, ...changes }, store.store_type))
                }
                save={(changes, { etag }) =>
                  client.stores.update({ store_id, ...changes }, { ifMatch: etag })
                }
              />
            </Section>
          </>
        )}
      </Await>
    </Page>
  )
}

function fieldsFor({ store_type, secrets }: Store) {
  const { is_sandbox, status, store_config } = newStoreFields[store_type]
  return [
    ...fieldsOf({ status, is_sandbox }, { status: STATUS, is_sandbox: { label: 'Sandbox' } }),
    ...settingFields('store_config', store_config, SECRETS_OF_TYPE[store_type], secrets),
  ]
}
