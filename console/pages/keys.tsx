import type { AccountKey } from '../../client/manage.ts'
import { KEY_SCOPES, type KeyScope } from '../../lib/domain/account.ts'
import { formatPeriod } from '../format.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton, type Parsed } from '../parts/form.tsx'
import { Badge, More, Page, Text, Time } from '../parts/page.tsx'
import { showSecret } from '../parts/secret.tsx'
import { List } from '../parts/table.tsx'
import { client } from '../session.ts'

const NAME = {
  label: 'Name',
  name: 'name',
  hint: 'Such as the server that gets it',
  isOptional: true,
}

const HINTS: { readonly [S in KeyScope]: string } = {
  read: 'Read projects, stores, items, purchases and sums',
  catalog: 'Create and change projects, stores and items',
  purchases: 'Record, refund, deliver, import and undo',
  tokens: 'Issue, check and revoke tokens',
  users: 'Export and erase users',
  admin: 'Keys, webhooks, public keys and the activity',
}

const SCOPES: readonly FieldInfo[] = KEY_SCOPES.map((name) => {
  return { label: `Scope ${name}`, name, hint: HINTS[name], kind: 'check' }
})

/** The fields of a form for the scopes: those of a key, or all. */
function valuesOf(scopes: readonly KeyScope[] = KEY_SCOPES) {
  return Object.fromEntries(scopes.map((scope) => [scope, 'true']))
}

/** The chosen scopes; undefined for all, also those of later versions. */
function scopesOf(sent: Parsed): readonly KeyScope[] | undefined {
  const scopes = KEY_SCOPES.filter((scope) => sent[scope])
  return scopes.length < KEY_SCOPES.length ? scopes : undefined
}

/** Creates a key, and shows it once. */
async function add(key: Parsed) {
  const { account_key } = await client.keys.add(key)
  showSecret('The new account key', account_key)
}

export function Keys() {
  return (
    <Page
      title="Keys"
      lead="Give each server a key of its own, and only the scopes that it needs."
      actions={
        <FormButton
          label="New key"
          submit="Create"
          isPrimary
          fields={[NAME, ...SCOPES]}
          values={valuesOf()}
          send={({ name, ...sent }) => add({ name, scopes: scopesOf(sent) })}
        />
      }
    >
      <List
        label="Account keys"
        list={client.keys.list}
        query={{}}
        keyOf={({ key_id }) => key_id}
        columns={[
          ['Name', ({ name }) => <Text isName text={name || 'unnamed'} />],
          ['State', stateOf],
          ['Scopes', ({ scopes }) => scopes?.join(', ') ?? 'all', 'labelled'],
          [
            'Last use (UTC)',
            ({ last_used_on: day }) => (day ? formatPeriod(day) : 'never'),
            'labelled',
          ],
          ['created_at', 'hidden'],
          ['key_id', 'hidden'],
          ['Action', (key) => !key.revoked_at && <Actions {...key} />, 'end'],
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

function Actions({ key_id, name, scopes, current }: AccountKey) {
  const title = name || key_id
  return (
    <More>
      <FormButton
        label="Change"
        title={`Change ${title}`}
        submit="Save"
        fields={[NAME, ...SCOPES]}
        values={{ name: name ?? '', ...valuesOf(scopes) }}
        send={({ name, ...sent }) =>
          client.keys.update({ key_id, name, scopes: scopesOf(sent) ?? KEY_SCOPES })
        }
      />
      <FormButton
        label="Replace"
        title={`Replace ${title}?`}
        submit="Create a new key"
        send={() => add({ name, scopes })}
      >
        <p>
          Creates a key with the same name and scopes. Give it to the server, and then revoke{' '}
          <code>{key_id}</code>: it stays valid until then.
        </p>
      </FormButton>
      <FormButton
        label="Revoke"
        title={`Revoke ${title}?`}
        isDangerous
        send={() => client.keys.revoke(key_id)}
      >
        <p>
          <code>{key_id}</code> is refused at once, wherever it is used. This cannot be undone.
        </p>
        {current && <p>You are signed in with this key, and will be signed out.</p>}
      </FormButton>
    </More>
  )
}
