import {
  changeStore,
  newStoreFields,
  parseStoreChange,
  SECRETS_OF_TYPE,
  type StoreType,
} from '../../lib/domain/store.ts'
import { useLoad } from '../data.ts'
import { Edit } from '../parts/edit.tsx'
import { Await } from '../parts/notice.tsx'
import { Facts, Page, Section } from '../parts/page.tsx'
import { fieldsOf, type OwnFields, STATUS, settingFields } from '../parts/rules.ts'
import { linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'

export function StorePage({ id: store_id }: { readonly id: string }) {
  const loaded = useLoad(client.stores.get, store_id)
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
                fields={storeFields(store.store_type, store.secrets)}
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

const SETTINGS: OwnFields = {
  currency: {
    width: 8,
    hint: 'Such as USD: the currency of prices that name none. A change does not convert the prices of items.',
    parse: (typed) => typed.toUpperCase(),
  },
  platform: {
    options: { google_play: 'Google Play' },
    hint: 'Other platforms are not supported yet.',
  },
  bundle_id: {
    width: 40,
    hint: 'A report may have the sales of several apps. The import takes those of this one. Empty for that of the project.',
  },
}

/** The fields of a store that can change. `secrets` are the names of the stored ones. */
export function storeFields(type: StoreType, secrets: readonly string[] = []) {
  const { is_sandbox, status, store_config } = newStoreFields[type]
  return [
    ...fieldsOf(
      { status, is_sandbox },
      { status: STATUS, is_sandbox: { label: 'Sandbox', hint: 'For test purchases' } },
    ),
    ...settingFields('store_config', store_config, SECRETS_OF_TYPE[type], secrets, SETTINGS),
  ]
}
