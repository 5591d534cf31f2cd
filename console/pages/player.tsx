import { useState } from 'preact/hooks'
import type { ErasedUser, Store } from '../../client/manage.ts'
import { formatCount } from '../format.ts'
import { download } from '../parts/download.ts'
import { ActionButton, FormButton } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'
import { PurchaseList } from './purchases.tsx'

export function Player({ store, id: user_id }: { readonly store: Store; readonly id: string }) {
  const { store_id, project_id } = store
  const [erased, setErased] = useState<ErasedUser>()
  const save = async () => {
    const found = await client.users.export({ project_id, user_id })
    download('player.json', 'application/json', JSON.stringify(found, null, 2))
  }
  return (
    <Page
      title={user_id}
      lead={<a href={linkTo('purchases')}>All purchases</a>}
      actions={
        <>
          <ActionButton act={save}>Export</ActionButton>
          <EraseButton project_id={project_id} user_id={user_id} onErased={setErased} />
        </>
      }
    >
      {erased && (
        <Notice tone="good" title={`Erased ${formatCount(erased.purchases)} purchases`}>
          {erased.found ? (
            <p>
              Where the id was, there is now the pseudonym <code>{erased.pseudonym}</code>.
            </p>
          ) : (
            <p>Nothing is stored of this player.</p>
          )}
        </Notice>
      )}
      <Section title={`Owns in ${store_id}`}>
        <List
          label="Owned items"
          list={client.purchases.owned}
          query={{ store_id, user_id }}
          columns={[
            'sku',
            'type',
            ['quantity', 'number end'],
            'first_purchased_at',
            'last_purchased_at',
            'expires_at',
          ]}
          empty={[
            'The player owns nothing in this store',
            'Check the user id and the store, or import purchases.',
          ]}
        />
      </Section>
      <Section title="Purchases">
        <PurchaseList store={store} user_id={user_id} />
      </Section>
    </Page>
  )
}

interface EraseProps {
  readonly project_id: string
  readonly user_id: string
  readonly onErased: (erased: ErasedUser) => void
}

/** Erases a player after the user id was typed again. */
function EraseButton({ project_id, user_id, onErased }: EraseProps) {
  const { project } = useScope().value ?? {}
  return (
    <FormButton
      label="Erase"
      title={`Erase ${user_id}?`}
      isDangerous
      fields={[
        {
          label: 'Also delete the purchases',
          name: 'delete',
          kind: 'check',
          hint: 'The revenue of the past gets smaller. The same transactions can not be imported again.',
        },
        {
          label: 'User id',
          name: 'user_id',
          hint: `Type ${user_id} to confirm`,
          parse: (typed) => (typed === user_id ? typed : undefined),
          mistake: `must be ${user_id}`,
        },
      ]}
      send={async ({ delete: deletes }) =>
        onErased(await client.users.erase({ project_id, user_id, delete: deletes }))
      }
    >
      <p>
        In all stores of <strong>{project?.name}</strong>, the purchases lose the user id, and a
        pseudonym replaces it in the activity. The amounts stay for your accounting. This can not be
        undone.
      </p>
    </FormButton>
  )
}
