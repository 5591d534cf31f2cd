import { useState } from 'preact/hooks'
import { type ImportRecord, TillError } from '../../client/manage.ts'
import { usePages } from '../data.ts'
import { formatCount } from '../format.ts'
import { Confirm } from '../parts/dialog.tsx'
import { CheckField } from '../parts/fields.tsx'
import { Empty } from '../parts/notice.tsx'
import { Badge, Section, Time } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { useClient } from '../session.ts'

interface ImportsProps {
  readonly store_id: string
  /** Grows with each new import, which then appears in the list. */
  readonly round: number
}

/** The past imports into a store, each with a button that undoes it. */
export function Imports({ store_id, round }: ImportsProps) {
  const client = useClient()
  const [asked, setAsked] = useState<ImportRecord>()
  const paged = usePages(
    async (page, signal) => {
      const { imports, next } = await client.imports.list({ store_id, ...page }, { signal })
      return { rows: imports, next }
    },
    [store_id, round],
  )
  return (
    <Section title="Imports">
      {asked && <Undo {...{ asked }} onClose={() => setAsked(undefined)} onUndone={paged.reload} />}
      <Pages
        label="Imports"
        paged={paged}
        keyOf={({ import_id }) => import_id}
        columns={[
          { label: 'Time', cell: ({ created_at }) => <Time at={created_at} /> },
          {
            label: 'File',
            cell: ({ file_name, import_id }) => file_name || <code>{import_id}</code>,
          },
          { label: 'New', cell: ({ added }) => countOf(added), isNumber: true },
          { label: 'Stored before', cell: ({ skipped }) => countOf(skipped), isNumber: true },
          { label: 'New status', cell: ({ updated }) => countOf(updated), isNumber: true },
          {
            label: 'Action',
            cell: (record) =>
              record.undone_at === undefined ? (
                <button type="button" class="danger" onClick={() => setAsked(record)}>
                  Undo
                </button>
              ) : (
                <Badge tone="warning" text="undone" />
              ),
          },
        ]}
        empty={
          <Empty title="Nothing was imported yet">
            <p>
              Choose a file above. Its header line needs at least <code>transaction_id</code>,{' '}
              <code>sku</code> and <code>purchased_at</code>.
            </p>
          </Empty>
        }
      />
    </Section>
  )
}

function countOf(count: number | undefined): string {
  return count === undefined ? '–' : formatCount(count)
}

interface UndoProps {
  readonly asked: ImportRecord
  readonly onClose: () => void
  readonly onUndone: () => void
}

function Undo({ asked, onClose, onUndone }: UndoProps) {
  const client = useClient()
  const [isForced, setForced] = useState(false)
  const [isRefused, setRefused] = useState(false)
  const { import_id, file_name, added, updated } = asked
  const undo = async () => {
    try {
      await client.imports.undo(import_id, { force: isForced })
    } catch (error) {
      setRefused(error instanceof TillError && error.code === 'undo_refused')
      throw error
    }
    onUndone()
  }
  return (
    <Confirm
      title={`Undo the import of ${file_name || import_id}?`}
      verb="Undo the import"
      isDangerous
      onConfirm={undo}
      onClose={onClose}
    >
      <p>
        Removes {countOf(added)} purchases, and gives {countOf(updated)} purchases their former
        status back. Players no longer own what these purchases gave them.
      </p>
      {isRefused && (
        <CheckField
          label="Also remove rows that a later file has too"
          isChecked={isForced}
          onChange={setForced}
        />
      )}
    </Confirm>
  )
}
