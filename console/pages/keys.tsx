import { useState } from 'preact/hooks'
import type { AccountKey, NewAccountKey } from '../../client/manage.ts'
import { useAction, useLoad } from '../data.ts'
import { Copyable } from '../parts/copy.tsx'
import { Confirm, Dialog } from '../parts/dialog.tsx'
import { Await, Failure } from '../parts/notice.tsx'
import { Badge, Page, Time } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { useClient } from '../session.ts'

export function Keys() {
  const client = useClient()
  const loaded = useLoad((signal) => client.keys.list({ signal }), [])
  const [added, setAdded] = useState<NewAccountKey>()
  const [revoked, setRevoked] = useState<AccountKey>()
  const add = useAction(async () => {
    setAdded(await client.keys.add())
    loaded.reload()
  })
  const revoke = async (key: AccountKey) => {
    await client.keys.revoke(key.key_id)
    loaded.reload()
  }
  return (
    <Page
      title="Keys"
      lead="An account key can do everything in this account. Give each server its own."
      actions={
        <button type="button" class="primary" aria-busy={add.isRunning} onClick={() => add.run()}>
          New key
        </button>
      }
    >
      <Failure error={add.error} />
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
      {revoked && (
        <Confirm
          title={`Revoke ${revoked.key_id}?`}
          verb="Revoke"
          isDangerous
          onConfirm={() => revoke(revoked)}
          onClose={() => setRevoked(undefined)}
        >
          <p>Every program that uses this key is refused at once. This can not be undone.</p>
          {revoked.current && <p>You are signed in with this key, and will be signed out.</p>}
        </Confirm>
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
              { label: 'State', cell: (key) => <State {...{ key_: key }} /> },
              {
                label: 'Action',
                cell: (key) =>
                  key.revoked_at === undefined && (
                    <button type="button" class="danger" onClick={() => setRevoked(key)}>
                      Revoke
                    </button>
                  ),
              },
            ]}
          />
        )}
      </Await>
    </Page>
  )
}

function State({ key_: { revoked_at, current } }: { readonly key_: AccountKey }) {
  if (revoked_at !== undefined) {
    return (
      <>
        <Badge tone="bad" text="revoked" /> <Time at={revoked_at} />
      </>
    )
  }
  return current ? <Badge tone="good" text="this tab" /> : <Badge text="active" />
}
