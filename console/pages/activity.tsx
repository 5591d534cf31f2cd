import { Page, Time } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { useClient } from '../session.ts'

export function Activity() {
  const client = useClient()
  return (
    <Page title="Activity" lead="The audit log of the account, newest first">
      <List
        label="Audit entries"
        load={client.audit.list}
        of="entries"
        inputs={[]}
        keyOf={({ at }, index) => `${at} ${index}`}
        columns={[
          { label: 'Time', cell: ({ at }) => <Time at={at} /> },
          { label: 'Action', cell: ({ action }) => action },
          { label: 'Record', cell: ({ subject }) => <code>{subject}</code> },
          { label: 'By', cell: ({ actor }) => <code>{actor}</code> },
          {
            label: 'Details',
            cell: ({ request_id, store_id, data }) => (
              <Details
                facts={{
                  ...(store_id && { store_id }),
                  ...(request_id && { request_id }),
                  ...data,
                }}
              />
            ),
          },
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
