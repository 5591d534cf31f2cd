import type { AuditEntry } from '../../client/manage.ts'
import { usePages } from '../data.ts'
import { Empty } from '../parts/notice.tsx'
import { Page, Time } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { useClient } from '../session.ts'

export function Activity() {
  const client = useClient()
  const paged = usePages(async (page, signal) => {
    const { entries, next } = await client.audit.list(page, { signal })
    return { rows: entries, next }
  }, [])
  return (
    <Page title="Activity" lead="The audit log of the account, newest first">
      <Pages
        label="Audit entries"
        paged={paged}
        keyOf={({ at }, index) => `${at} ${index}`}
        columns={[
          { label: 'Time', cell: ({ at }) => <Time at={at} /> },
          { label: 'Action', cell: ({ action }) => action },
          { label: 'Record', cell: ({ subject }) => <code>{subject}</code> },
          { label: 'By', cell: ({ actor }) => <code>{actor}</code> },
          { label: 'Details', cell: (entry) => <Details entry={entry} /> },
        ]}
        empty={
          <Empty title="Nothing has happened yet">
            <p>Each change of the account appears here, by console, CLI or API.</p>
          </Empty>
        }
      />
    </Page>
  )
}

function Details({ entry: { request_id, store_id, data } }: { readonly entry: AuditEntry }) {
  const facts = {
    ...(store_id && { store_id }),
    ...(request_id && { request_id }),
    ...data,
  }
  return (
    <details>
      <summary>Show</summary>
      <pre>{JSON.stringify(facts, null, 2)}</pre>
    </details>
  )
}
