import { useState } from 'preact/hooks'
import type { ErrorDetail, Item, NewItem, Store } from '../../client/manage.ts'
import { newItemFields, parseNewItem } from '../../lib/domain/item.ts'
import { useLoad } from '../data.ts'
import { currencyOf, formatCount, formatMoney, toDecimal } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { formatCell } from '../parts/download.ts'
import { type Option, Select } from '../parts/fields.tsx'
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

/**
 * Leads each unknown SKU of a file to an item, or leaves it out. An item is chosen if the SKU spells
 * its SKU. A like title only suggests one: several SKUs may have the title.
 */
export function UnknownSkus({ store, skus, map, onMap }: UnknownSkusProps) {
  const { store_id } = store
  const currency = currencyOf(store)
  const [choices, setChoices] = useState<Values>({})
  const choose = (sku = '', item: string) => setChoices((choices) => ({ ...choices, [sku]: item }))
  const loaded = useLoad(client.items.list, { store_id, limit: 1000 })
  const { items = [] } = loaded.value ?? {}
  const options = items.map(({ name, display_name }) => [name, display_name] as const)
  const choiceOf = ({ sku = '' }: ErrorDetail) =>
    choices[sku] ?? itemSpelledIn(sku, items)?.name ?? ''
  const chosen = skus.filter(choiceOf)
  const apply = () => {
    const lines = chosen.map((each) => {
      const item = choiceOf(each)
      return `${formatCell(each.sku)},${formatCell(item === LEFT_OUT ? '' : item)}\n`
    })
    onMap(`${map || 'vendor_sku,item\n'}${lines.join('')}`)
  }
  return (
    <>
      <Notice tone="warning" title="The file has SKUs that no item has">
        <p>
          Where the file spells an item’s SKU, the item is chosen. Choose the others, or leave them
          out. Nothing is stored yet.
        </p>
      </Notice>
      <Await loaded={loaded}>
        {() => (
          <Table
            label="Unknown SKUs"
            rows={skus}
            keyOf={({ sku = '' }) => sku}
            columns={[
              [
                'SKU and title in the file',
                ({ sku = '', title = '' }) => (
                  <>
                    <Text text={sku} />
                    <div class="hint">
                      <Text isName text={title} />
                    </div>
                  </>
                ),
              ],
              ['Rows', ({ rows = 0 }) => formatCount(rows), 'number'],
              ['Sales', (each) => <Sales of={each} currency={currency} />, 'number hidden'],
              [
                'Item',
                (each) => (
                  <div class="actions">
                    <Select
                      options={[
                        ...suggestionsFor(each, items),
                        [LEFT_OUT, 'Leave out'],
                        ...options,
                      ]}
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
        )}
      </Await>
      <div class="actions">
        <Button
          label="Use these items and check again"
          class="primary"
          disabled={chosen.length === 0}
          onClick={apply}
        />
      </div>
    </>
  )
}

const SHOWN = 2

/** The sales of a SKU, first in the currency of the store. The tooltip has all currencies. */
function Sales({ of: { sales = [] }, currency }: { of: ErrorDetail; currency: string }) {
  const isOther = (code: string) => Number(code !== currency)
  const sorted = sales.toSorted((a, b) => isOther(a.currency) - isOther(b.currency))
  const texts = sorted.map((each) => formatMoney(each.total, each.currency))
  const more = texts.length > SHOWN ? ` and ${texts.length - SHOWN} more` : ''
  return <span title={texts.join(', ')}>{(texts.slice(0, SHOWN).join(', ') || '–') + more}</span>
}

/** The item that a vendor's SKU ends with: `com.game.gold.100` is `gold_100`. */
function itemSpelledIn(sku: string, items: readonly Item[]): Item | undefined {
  const isEnd = (name: string) =>
    new RegExp(`(^|[^a-z0-9_])${name.replaceAll('_', '[^a-z0-9]+')}$`, 'i').test(sku)
  const fits = items.filter(({ name }) => isEnd(name))
  return fits.sort((a, b) => b.name.length - a.name.length)[0]
}

/** The item that has the title, to which Google Play adds the name of the application. */
function suggestionsFor({ title = '' }: ErrorDetail, items: readonly Item[]): readonly Option[] {
  const like = items.find(({ display_name }) => `${title} (`.startsWith(`${display_name} (`))
  if (!like) return [['', 'Choose…']]
  const { name, display_name } = like
  return [
    ['', `Is it ${display_name}?`],
    [name, display_name],
  ]
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
