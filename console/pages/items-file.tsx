import { useState } from 'preact/hooks'
import { type CatalogChange, type Store, TillError } from '../../client/manage.ts'
import { ITEM_TYPES } from '../../lib/domain/item.ts'
import { reloadAll, type Signal, useLoad } from '../data.ts'
import { currencyOf, formatCount, formatMoney, labelOf } from '../format.ts'
import { Button } from '../parts/button.tsx'
import type { FieldInfo } from '../parts/fields.tsx'
import { openImport } from '../parts/file.tsx'
import { ActionButton, Fields, type Values } from '../parts/form.tsx'
import { Await } from '../parts/notice.tsx'
import { Facts, Section } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { client } from '../session.ts'

interface CatalogFileProps {
  readonly store: Store
  readonly file: File
  readonly onClose: () => void
}

const OPTIONS: readonly FieldInfo[] = [
  {
    label: 'New items without a type are',
    name: 'type',
    options: [['', 'mistakes'], ...ITEM_TYPES],
  },
  { label: 'Archive the items that the file lacks', name: 'archive_missing', kind: 'check' },
]

const SHOWN = 100

/** The changes that a catalog file makes: JSON, a spreadsheet, or the products of Google Play. */
export function CatalogFile({ store, file, onClose }: CatalogFileProps) {
  const [values, setValues] = useState<Values>({})
  const requestOf = async () => ({
    project_id: store.project_id,
    store_id: store.store_id,
    items_only: true,
    file: await file.text(),
    type: (values.type || undefined) as (typeof ITEM_TYPES)[number] | undefined,
    archive_missing: values.archive_missing === 'true',
  })
  const plan = async (_: Values, options: Signal) => client.catalog.plan(await requestOf(), options)
  const loaded = useLoad(plan, values)
  const apply = async (digest: string) => {
    try {
      await client.catalog.apply({ ...(await requestOf()), digest })
      onClose()
    } catch (error) {
      if (error instanceof TillError && error.code === 'catalog_changed') reloadAll()
      throw error
    }
  }
  const currency = currencyOf(store)
  return (
    <Section
      title={`What ${file.name} changes`}
      actions={
        <div class="actions">
          <Button label="It is a file of purchases" onClick={() => openImport(file)} />
          <Button label="Close" onClick={onClose} />
        </div>
      }
    >
      <div class="filters">
        <Fields fields={OPTIONS} values={values} onChange={setValues} />
      </div>
      <Await loaded={loaded}>
        {({ changes, digest, ...plan }) => (
          <>
            <Facts
              of={plan}
              fields={[
                ...(['created', 'updated', 'archived', 'restored', 'unchanged'] as const),
                ['Not in the file', ({ missing }) => formatCount(missing)],
              ]}
            />
            {changes.length > 0 && (
              <Table
                label="Changes"
                rows={changes.slice(0, SHOWN)}
                columns={[
                  ['Item', ({ name }) => <code>{name}</code>],
                  ['Values', (change) => describe(change, currency)],
                  ['Change', (change) => actionOf(change, store), 'end'],
                ]}
              />
            )}
            {changes.length > SHOWN && <p>And {formatCount(changes.length - SHOWN)} more.</p>}
            {changes.length > 0 ? (
              <ActionButton label="Make these changes" act={() => apply(digest)} isPrimary />
            ) : (
              <p>The file changes nothing.</p>
            )}
          </>
        )}
      </Await>
    </Section>
  )
}

function actionOf({ action, store_id }: CatalogChange, store: Store): string {
  return store_id === store.store_id ? action : `${action} in ${store_id}`
}

function describe({ item, fields = {} }: CatalogChange, currency: string): string {
  const show = (name: string, value: unknown) =>
    name === 'price' ? formatMoney(String(value), currency) : JSON.stringify(value ?? '')
  if (item) return `${item.display_name}, ${show('price', item.price)}, ${item.type}`
  const changed = Object.entries(fields).map(
    ([name, { from, to }]) => `${labelOf(name)}: ${show(name, from)} → ${show(name, to)}`,
  )
  return changed.join(', ')
}
