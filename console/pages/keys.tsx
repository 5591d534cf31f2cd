import { useState } from 'preact/hooks'
import type { AccountKey, NewAccountKey } from '../../client/manage.ts'
import { Copyable } from '../parts/copy.tsx'
import { FormButton } from '../parts/form.tsx'
import { Badge, Page, Time } from '../parts/page.tsx'
import { Secret } from '../parts/secret.tsx'
import { List } from '../parts/table.tsx'
import { client } from '../session.ts'

const NAME = [
  { label: 'Name', name: 'name', hint: 'Such as the server that gets it', isOptional: true },
]

export function Keys() {
  const [added, setAdded] = useState<NewAccountKey>()
  return (
    <Page
      title="Keys"
      lead="An account key can do everything in this account. Give each server its own."
      actions={
        <FormButton
          label="New key"
          submit="Create"
          isPrimary
          fields={NAME}
          send={async ({ name }) => setAdded(await client.keys.add({ name }))}
        />
      }
    >
      {added && (
        <Secret
          title="The new account key"
          text={added.account_key}
          onClose={() => setAdded(undefined)}
        />
      )}
      <List
        label="Account keys"
        list={client.keys.list}
        query={{}}
        keyOf={({ key_id }) => key_id}
        columns={[
          ['Name', ({ name }) => name || 'unnamed'],
          ['Key', ({ key_id }) => <Copyable label="key id" text={key_id} />, 'hidden'],
          ['created_at', 'hidden'],
          ['Last use (UTC)', ({ last_used_on: day }) => day ?? 'never'],
          ['State', stateOf],
          ['Action', (key) => !key.revoked_at && <RevokeButton of={key} />, 'end'],
        ]}
        empty={['The account has no key', 'Create one for each server.']}
      />
    </Page>
  )
}

function stateOf({ revoked_at, current }: AccountKey) {
  if (!revoked_at) return <Badge text={current ? 'this tab' : 'active'} />
  return (
    <>
      <Badge text="revoked" /> <Time at={revoked_at} />
    </>
  )
}

function RevokeButton({ of: { key_id, current } }: { readonly of: AccountKey }) {
  return (
    <FormButton
      label="Revoke"
      title={`Revoke ${key_id}?`}
      isDangerous
      send={() => client.keys.revoke(key_id)}
    >
      <p>It is refused at once, wherever it is used. This can not be undone.</p>
      {current && <p>You are signed in with this key, and will be signed out.</p>}
    </FormButton>
  )
}
