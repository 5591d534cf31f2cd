import type { AuditEntry, Item } from '../../client/manage.ts'
import { usePages } from '../data.ts'
import { formatMoney } from '../format.ts'
import { Empty } from '../parts/notice.tsx'
import { Section, Time } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { useClient } from '../session.ts'

interface HistoryProps {
  readonly item: Item
  readonly currency: string
}

/** The changes of an item with its old and new prices, newest first. */
export function ItemHistory({ item, currency }: HistoryProps) {
  const client = useClient()
  const paged = usePages(
    async (page, signal) => {
      const { entries, next } = await client.items.history({ id: item.id, ...page }, { signal })
      return { rows: entries, next }
    },
    [item.id, item.version, item.archived_at],
  )
  return (
    <Section title="History">
      <Pages
        label="History"
        paged={paged}
        keyOf={({ at }, index) => `${at} ${index}`}
        columns={[
          { label: 'Time', cell: ({ at }) => <Time at={at} /> },
          { label: 'Change', cell: describe },
          { label: 'Price', cell: (entry) => <Price {...{ entry, currency }} />, isNumber: true },
          { label: 'By', cell: ({ actor }) => <code>{actor}</code> },
        ]}
        empty={
          <Empty title="No changes are recorded">
            <p>The next change of this item appears here.</p>
          </Empty>
        }
      />
    </Section>
  )
}

function describe({ action, data }: AuditEntry): string {
  const changed = Array.isArray(data?.changed) ? `: ${data.changed.join(', ')}` : ''
  return `${action.replace('item.', '')}${changed}`
}

function Price({ entry: { data }, currency }: { entry: AuditEntry; currency: string }) {
  const { old, new: now } = (data?.price ?? {}) as { old?: number; new?: number }
  if (old === undefined || now === undefined) return <span class="muted">–</span>
  return (
    <span>
      <s>{formatMoney(old, currency)}</s> → {formatMoney(now, currency)}
    </span>
  )
}
