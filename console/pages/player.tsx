import { useState } from 'preact/hooks'
import type { ErasedUser, Store } from '../../client/manage.ts'
import { formatCount } from '../format.ts'
import { download } from '../parts/download.ts'
import { ActionButton, FormButton } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo, usePlace } from '../place.ts'
import { useScope, WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { PurchaseList, PurchasesPage } from './purchases.tsx'

export function Player() {
  const { id } = usePlace()
  if (!id) return <PurchasesPage />
  return (
    <WithStore title="Player">{(store) => <OnePlayer {...{ store, user_id: id }} />}</WithStore>
  )
}

type PlayerProps = { readonly store: Store; readonly user_id: string }

function OnePlayer({ store, user_id }: PlayerProps) {
  const client = useClient()
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
          <EraseButton {...{ store, user_id }} onErased={setErased} />
        </>
      }
    >
      {erased && !erased.found && (
        <Notice tone="warning" title="Nothing is stored of this player" />
      )}
      {erased?.found && (
        <Notice tone="good" title={`Erased ${formatCount(erased.purchases)} purchases`}>
          <p>
            Where the id was, there is now the pseudonym <code>{erased.pseudonym}</code>.
          </p>
        </Notice>
      )}
      <Section title={`Owns in ${store_id}`}>
        <List
          label="Owned items"
          load={(page, options) => client.purchases.owned({ store_id, user_id, ...page }, options)}
          of="owned"
          inputs={[store_id, user_id, erased]}
          keyOf={({ sku }) => sku}
          columns={['sku', ['quantity', 'number end'], 'first_purchased_at', 'last_purchased_at']}
          empty={[
            'The player owns nothing in this store',
            'Check the user id and the store, or import purchases.',
          ]}
        />
      </Section>
      <Section title="Purchases">
        <PurchaseList {...{ store, user_id }} key={erased?.pseudonym} />
      </Section>
    </Page>
  )
}

type EraseProps = PlayerProps & { readonly onErased: (erased: ErasedUser) => void }

/** Erases a player after the user id was typed again. */
function EraseButton({ store: { project_id }, user_id, onErased }: EraseProps) {
  const client = useClient()
  const { project } = useScope().value ?? {}
  return (
    <FormButton
      {...{ label: 'Erase', title: `Erase ${user_id}?`, isDangerous: true }}
      fields={[
        {
          ...{ label: 'Also delete the purchases', name: 'delete', kind: 'check' },
          hint: 'The revenue of the past gets smaller. The same transactions can not be imported again.',
        },
        {
          ...{ label: 'User id', name: 'user_id', hint: `Type ${user_id} to confirm` },
          parse: (typed) => (typed === user_id ? typed : undefined),
          mistake: `must be ${user_id}`,
        },
      ]}
      send={async ({ delete: deletes }) =>
        onErased(await client.users.erase({ project_id, user_id }, { delete: deletes }))
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
