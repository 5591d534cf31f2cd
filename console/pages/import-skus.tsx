import { useState } from 'preact/hooks'
import type { ErrorDetail, Item, NewItem, Store } from '../../client/manage.ts'
import { newItemFields, parseNewItem } from '../../lib/domain/item.ts'
import { useLoad } from '../data.ts'
import { currencyOf, formatCount, formatMoney, toDecimal } from '../format.ts'
import { formatCell } from '../parts/download.ts'
import { Select } from '../parts/fields.tsx'
import { FormButton, type Values } from '../parts/form.tsx'
import { Await, Notice } from '../parts/notice.tsx'
import { Text } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { client } from '../session.ts'
import { itemFields } from './item.tsx'

interface UnknownSkusProps {
  readonly store: Store
  /** The mistakes of the check that are unknown SKUs. */
  readonly skus: readonly ErrorDetail[]
  /** The SKU map that was used for the check. */
  readonly map: string
  readonly onMap: (map: string) => void
}

/** No item has this name. */
const LEFT_OUT = '-'

/** Leads each unknown SKU of a file to an item, or leaves it out. Items with like names are chosen. */
export function UnknownSkus({ store, skus, map, onMap }: UnknownSkusProps) {
  const { store_id } = store
  const currency = currencyOf(store)
  const [choices, setChoices] = useState<Values>({})
  const choose = (sku = '', item: string) => setChoices((choices) => ({ ...choices, [sku]: item }))
  const loaded = useLoad(
    (signal) => client.items.list({ store_id, limit: 1000 }, { signal }),
    [store_id],
  )
  return (
    <Await loaded={loaded}>
      {({ items }) => {
        const choiceOf = ({ sku = '', title }: ErrorDetail) =>
          choices[sku] ?? itemFor(sku, title, items)?.name ?? ''
        const chosen = skus.filter(choiceOf)
        const apply = () => {
          const lines = chosen.map((each) => {
            const choice = choiceOf(each)
            return `${formatCell(each.sku)},${formatCell(choice === LEFT_OUT ? '' : choice)}\n`
          })
          onMap(`${map || 'vendor_sku,item\n'}${lines.join('')}`)
        }
        const options = [
          ['', 'Choose…'] as const,
          [LEFT_OUT, 'Leave out'] as const,
          ...items.map(({ name, display_name }) => [name, display_name] as const),
        ]
        return (
          <>
            <Notice tone="warning" title="The file has SKUs that no item has">
              <p>
                Items that fit by SKU or title are chosen: look at them, and choose the others or
                leave them out. Nothing is stored yet.
              </p>
            </Notice>
            <Table
              label="Unknown SKUs"
              rows={skus}
              keyOf={({ sku = '' }) => sku}
              columns={[
                [
                  'SKU and title in the file',
                  ({ sku = '', title }) => (
                    <div class="whole">
                      <Text text={sku} />
                      {title && (
                        <div class="hint">
                          <Text isName text={title} />
                        </div>
                      )}
                    </div>
                  ),
                ],
                ['Rows', ({ rows = 0 }) => formatCount(rows), 'number'],
                ['Sales', (each) => <Sales of={each} currency={currency} />, 'number hidden'],
                [
                  'Item',
                  (each) => (
                    <div class="actions">
                      <Select
                        options={options}
                        value={choiceOf(each)}
                        onChange={(item) => choose(each.sku, item)}
                        attributes={{ 'aria-label': `Item for ${each.sku}` }}
                      />
                      <FormButton
                        label="Create"
                        title={`Create an item for ${each.sku}`}
                        fields={itemFields(newItemFields, currency)}
                        values={proposalFor(each, skus, currency)}
                        check={(item) => parseNewItem({ store_id, ...item })}
                        send={async (item, creation) => {
                          const input = { store_id, ...item } as NewItem
                          const { name } = await client.items.create(input, creation)
                          choose(each.sku, name)
                        }}
                      />
                    </div>
                  ),
                  'end',
                ],
              ]}
            />
            <div class="actions">
              <button type="button" class="primary" disabled={chosen.length === 0} onClick={apply}>
                Use these items and check again
              </button>
            </div>
          </>
        )
      }}
    </Await>
  )
}

const SHOWN = 2

/** What a SKU has sold, first in the currency of the store. The tooltip has all currencies. */
function Sales({ of: { sales = [] }, currency }: { of: ErrorDetail; currency: string }) {
  const isOther = (code: string) => Number(code !== currency)
  const sorted = [...sales].sort((a, b) => isOther(a.currency) - isOther(b.currency))
  const texts = sorted.map((each) => formatMoney(each.total, each.currency))
  const more = texts.length > SHOWN ? ` and ${texts.length - SHOWN} more` : ''
  return <span title={texts.join(', ')}>{(texts.slice(0, SHOWN).join(', ') || '–') + more}</span>
}

/** The item that a vendor's SKU or title names: `com.game.gold.100` is `gold_100`. */
function itemFor(sku: string, title = '', items: readonly Item[]): Item | undefined {
  const wanted = `_${sku.replace(/\W+/g, '_')}`.toLowerCase()
  const fits = items.filter(({ name, display_name }) => {
    return wanted.endsWith(`_${name.toLowerCase()}`) || `${title} (`.startsWith(`${display_name} (`)
  })
  return fits.sort((a, b) => b.name.length - a.name.length)[0]
}

/** `com.game.gold.100` is `gold_100` if all SKUs begin with `com.game.`. */
function proposalFor(
  { sku = '', title, sales = [] }: ErrorDetail,
  skus: readonly ErrorDetail[],
  currency: string,
): Values {
  const isShared = (start: string) => skus.every((each) => each.sku?.startsWith(start))
  const starts = [...sku.matchAll(/[.:/](?=.*[a-z])/gi)].map(({ index }) => sku.slice(0, index + 1))
  const name = sku.slice(starts.findLast(isShared)?.length).replace(/\W+/g, '_')
  const named = name.replaceAll('_', ' ').replace(/^./, (letter) => letter.toUpperCase())
  const price = sales.find((each) => each.currency === currency)?.price
  return {
    name,
    display_name: title?.replace(/ \([^()]+\)$/, '') || named,
    price: price ? toDecimal(price, currency) : '',
    type: 'consumable',
    meta: '{}',
  }
}
