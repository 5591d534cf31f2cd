import { useState } from 'preact/hooks'
import { type ImportRecord, TillError } from '../../client/manage.ts'
import { formatCount } from '../format.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { FormButton } from '../parts/form.tsx'
import { Badge, Section } from '../parts/page.tsx'
import { List } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useClient } from '../session.ts'

interface ImportsProps {
  readonly store_id: string
  /** A change loads the list again. */
  readonly round: number
  readonly onUndone: () => void
}

/** The past imports into a store, each with a button that undoes it. */
export function Imports({ store_id, round, onUndone }: ImportsProps) {
  const client = useClient()
  return (
    <Section title="Imports">
      <List
        label="Imports"
        load={(page, options) => client.imports.list({ store_id, ...page }, options)}
        of="imports"
        inputs={[store_id, round]}
        keyOf={({ import_id }) => import_id}
        columns={[
          [
            'File',
            ({ file_name, import_id }) => (
              <a href={linkTo('purchases', '', { import_id })}>{file_name || import_id}</a>
            ),
          ],
          'created_at',
          ['added', 'number'],
          ['skipped', 'number hidden'],
          ['updated', 'number hidden'],
          [
            'Action',
            (record) =>
              record.undone_at ? <Badge text="undone" /> : <UndoButton {...{ record, onUndone }} />,
            'end',
          ],
        ]}
        empty={[
          'Nothing was imported yet',
          'Choose a file above. Its header needs at least transaction_id, sku and purchased_at.',
        ]}
      />
    </Section>
  )
}

function countOf(count: number | undefined): string {
  return count === undefined ? '–' : formatCount(count)
}

const FORCE: FieldInfo = {
  ...{ label: 'Also remove rows that a later file has too', name: 'force', kind: 'check' },
}

function UndoButton({ record, onUndone }: { record: ImportRecord; onUndone: () => void }) {
  const client = useClient()
  const [isRefused, setRefused] = useState(false)
  const { import_id, file_name, added, updated } = record
  const undo = async ({ force }: { force?: boolean }) => {
    try {
      await client.imports.undo(import_id, { force: force ?? false })
    } catch (error) {
      setRefused(error instanceof TillError && error.code === 'undo_refused')
      throw error
    }
    onUndone()
  }
  return (
    <FormButton
      {...{ label: 'Undo', title: `Undo the import of ${file_name || import_id}?` }}
      {...{ submit: 'Undo the import', isDangerous: true }}
      fields={isRefused ? [FORCE] : []}
      send={undo}
    >
      <p>
        Purchases to remove: {countOf(added)}. Statuses to restore: {countOf(updated)}. Players no
        longer own the items of removed purchases.
      </p>
    </FormButton>
  )
}
