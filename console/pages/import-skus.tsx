import { useState } from 'preact/hooks'
import type { ErrorDetail, NewItem, Store } from '../../client/manage.ts'
import { newItemFields, parseNewItem } from '../../lib/domain/item.ts'
import { useLoad } from '../data.ts'
import { currencyOf, formatCount } from '../format.ts'
import { download, formatCell } from '../parts/download.ts'
import { Select } from '../parts/fields.tsx'
import { FormButton, type Values } from '../parts/form.tsx'
import { Table } from '../parts/table.tsx'
import { client, remembered } from '../session.ts'
import { itemFields } from './item.tsx'

interface UnknownSkusProps {
  readonly store: Store
  /** The mistakes of the check, which have each unknown SKU once. */
  readonly details: readonly ErrorDetail[]
  /** The SKU map that was used for the check. */
  readonly map: string
  readonly onMap: (map: string) => void
}

/** No item has this name. */
const LEFT_OUT = '-'

/** Leads each unknown SKU of a file to an item, or leaves it out. Remembers the map of the store. */
export function UnknownSkus({ store, details, map, onMap }: UnknownSkusProps) {
  const { store_id } = store
  const [choices, setChoices] = useState<Values>({})
  const loaded = useLoad(
    (signal) => client.items.list({ store_id, limit: 1000 }, { signal }),
    [store_id],
  )
  const unknown = details.flatMap(({ sku, rows = 1 }) => (sku ? [{ sku, rows }] : []))
  if (unknown.length === 0) return null
  const names = (loaded.value?.items ?? []).map((each) => [each.name, each.display_name] as const)
  const options = [['', 'Choose…'] as const, [LEFT_OUT, 'Leave out'] as const, ...names]
  const chosen = unknown.filter(({ sku }) => choices[sku])
  const apply = () => {
    const lines = chosen.map(({ sku }) => {
      const item = choices[sku] === LEFT_OUT ? '' : choices[sku]
      return `${formatCell(sku)},${formatCell(item)}\n`
    })
    const changed = `${map || 'vendor_sku,item\n'}${lines.join('')}`
    remembered.write(store_id, changed)
    onMap(changed)
  }
  return (
    <>
      <Table
        label="Unknown SKUs"
        rows={unknown}
        keyOf={({ sku }) => sku}
        columns={[
          ['SKU of the file', ({ sku }) => <code title={sku}>{sku}</code>],
          ['Rows', ({ rows }) => formatCount(rows), 'number'],
          [
            'Item',
            ({ sku }) => (
              <Select
                options={options}
                value={choices[sku] ?? ''}
                onChange={(item) => setChoices({ ...choices, [sku]: item })}
                attributes={{ 'aria-label': `Item for ${sku}` }}
              />
            ),
          ],
          [
            'New',
            ({ sku }) => (
              <FormButton
                label="Create"
                title={`Create an item for ${sku}`}
                fields={itemFields(newItemFields, currencyOf(store))}
                values={proposalFor(sku)}
                check={(item) => parseNewItem({ store_id, ...item })}
                send={async (item, creation) => {
                  const input = { store_id, ...item } as NewItem
                  const { name } = await client.items.create(input, creation)
                  setChoices((choices) => ({ ...choices, [sku]: name }))
                }}
              />
            ),
            'end',
          ],
        ]}
      />
      <div class="actions">
        <button type="button" class="primary" disabled={chosen.length === 0} onClick={apply}>
          Use these items and check again
        </button>
        {map && (
          <button type="button" onClick={() => download('skus.csv', 'text/csv', map)}>
            Download the SKU map
          </button>
        )}
      </div>
    </>
  )
}

/** `com.game.gold_pack` is `gold_pack`, with the name `Gold pack`. */
function proposalFor(sku: string): Values {
  const name = (sku.split(/[.:/]/).at(-1) ?? sku).replace(/\W+/g, '_')
  const display_name = name.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase())
  return { name, display_name, type: 'consumable', meta: '{}' }
}
