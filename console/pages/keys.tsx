import { useState } from 'preact/hooks'
import type { AccountKey, NewAccountKey } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Copyable } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { ActionButton, FormButton } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Badge, Page, Time } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { useClient } from '../session.ts'

export function Keys() {
  const client = useClient()
  const loaded = useLoad((signal) => client.keys.list({ signal }), [])
  const [added, setAdded] = useState<NewAccountKey>()
  const add = async () => {
    setAdded(await client.keys.add())
    loaded.reload()
  }
  return (
    <Page
      title="Keys"
      lead="An account key can do everything in this account. Give each server its own."
      actions={
        <ActionButton act={add} isPrimary>
          New key
        </ActionButton>
      }
    >
      {added && (
        <Dialog title="The new account key" isRequired onClose={() => setAdded(undefined)}>
          <p>Copy it now: it is shown only this once.</p>
          <Copyable label="Account key" text={added.account_key} />
          <div class="actions">
            <button type="button" class="primary" onClick={() => setAdded(undefined)}>
              I have stored it
            </button>
          </div>
        </Dialog>
      )}
      <Await loaded={loaded}>
        {({ keys }) => (
          <Table
            label="Account keys"
            rows={keys}
            keyOf={({ key_id }) => key_id}
            columns={[
              { label: 'Key', cell: ({ key_id }) => <code>{key_id}</code> },
              { label: 'Created', cell: ({ created_at }) => <Time at={created_at} /> },
              { label: 'State', cell: stateOf },
              {
                label: 'Action',
                cell: ({ key_id, revoked_at, current }) =>
                  !revoked_at && (
                    <FormButton
                      {...{ label: 'Revoke', title: `Revoke ${key_id}?`, isDangerous: true }}
                      send={() => client.keys.revoke(key_id).then(loaded.reload)}
                    >
                      <p>It is refused at once, wherever it is used. This can not be undone.</p>
                      {current && <p>You are signed in with this key, and will be signed out.</p>}
                    </FormButton>
                  ),
              },
            ]}
          />
        )}
      </Await>
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
