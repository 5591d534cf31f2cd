import { useLoad } from '../data.ts'
import { Page } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { useClient } from '../session.ts'

export function Activity() {
  const client = useClient()
  const { value: names } = useLoad(async (signal) => {
    const { keys } = await client.keys.list({ limit: 1000, signal })
    return new Map(keys.flatMap(({ key_id, name }) => (name ? [[key_id, name]] : [])))
  }, [])
  return (
    <Page title="Activity" lead="The audit log of the account, newest first">
      <List
        label="Audit entries"
        load={client.audit.list}
        of="entries"
        inputs={[]}
        keyOf={({ at }, index) => `${at} ${index}`}
        columns={[
          'action',
          'at',
          'subject',
          [
            'By',
            ({ actor }) => names?.get(actor.replace('key:', '')) ?? <code>{actor}</code>,
            'hidden',
          ],
          [
            'Details',
            ({ request_id, store_id, data }) => (
              <Details
                facts={{
                  ...(store_id && { store_id }),
                  ...(request_id && { request_id }),
                  ...data,
                }}
              />
            ),
            'end',
          ],
        ]}
        empty={[
          'Nothing has happened yet',
          'Each change of the account appears here, by console, CLI or API.',
        ]}
      />
    </Page>
  )
}

function Details({ facts }: { readonly facts: object }) {
  return (
    <details>
      <summary>Show</summary>
      <pre>{JSON.stringify(facts, null, 2)}</pre>
    </details>
  )
}
