import type { ImportRecord } from '../../client/manage.ts'
import { undoFields } from '../../lib/domain/import.ts'
import { formatCount } from '../format.ts'
import { FormButton } from '../parts/form.tsx'
import { Badge, Section, Text } from '../parts/page.tsx'
import { fieldsOf } from '../parts/rules.ts'
import { List } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { client } from '../session.ts'

/** The past imports into a store, each with a button that undoes it. */
export function Imports({ store_id }: { readonly store_id: string }) {
  return (
    <Section title="Imports">
      <List
        label="Imports"
        list={client.imports.list}
        query={{ store_id, newest_first: true }}
        interval={5_000}
        keyOf={({ import_id }) => import_id}
        columns={[
          ['File', fileOf],
          'created_at',
          ['added', 'number'],
          ['skipped', 'number hidden'],
          ['updated', 'number hidden'],
          [
            'Action',
            (record) =>
              record.undone_at ? <Badge text="undone" /> : <UndoButton record={record} />,
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

/** The name of an imported file. It leads to the purchases that the import added, if there are any. */
export function fileOf({
  import_id,
  file_name,
  added,
}: Pick<ImportRecord, 'import_id' | 'file_name' | 'added'>) {
  const href = added === 0 ? undefined : linkTo('purchases', '', { import_id })
  return <Text text={file_name || import_id} href={href} />
}

const FIELDS = fieldsOf(undoFields, { import_id: false })

function UndoButton({ record }: { readonly record: ImportRecord }) {
  const { import_id, file_name, added, updated } = record
  const countOf = (count?: number) => (count === undefined ? '–' : formatCount(count))
  return (
    <FormButton
      label="Undo"
      title={`Undo the import of ${file_name || import_id}?`}
      submit="Undo the import"
      isDangerous
      fields={FIELDS}
      send={(options) => client.imports.undo({ import_id, ...options })}
    >
      <p>
        Purchases to remove: {countOf(added)}. Purchases to restore: {countOf(updated)}. Players no
        longer own the items of removed purchases.
      </p>
    </FormButton>
  )
}
