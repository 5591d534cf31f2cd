import type { AuditEntry } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Details, Page } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { client } from '../session.ts'

export function Activity() {
  const { value: names } = useLoad(async (signal) => {
    const { keys } = await client.keys.list({ limit: 1000 }, { signal })
    return new Map(keys.flatMap(({ key_id, name }) => (name ? [[key_id, name]] : [])))
  }, [])
  const nameOf = (actor: string) => names?.get(actor.replace('key:', '')) ?? <code>{actor}</code>
  return (
    <Page title="Activity" lead="The audit log of the account, newest first">
      <List
        label="Audit entries"
        list={client.audit.list}
        query={{}}
        keyOf={(entry) => JSON.stringify(entry)}
        columns={[
          'action',
          'at',
          'subject',
          ['By', ({ actor }) => nameOf(actor), 'hidden'],
          ['Details', (entry) => <Details content={<pre>{textOf(entry)}</pre>} />, 'end'],
        ]}
        empty={[
          'Nothing has happened yet',
          'Each change of the account appears here, by console, CLI or API.',
        ]}
      />
    </Page>
  )
}

function textOf({ store_id, request_id, data }: AuditEntry): string {
  return JSON.stringify({ store_id, request_id, ...data }, null, 2)
}
