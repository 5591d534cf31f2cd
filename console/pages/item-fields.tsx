import type { Item } from '../../client/manage.ts'
import { digitsOf, toDecimal, toMinor } from '../format.ts'
import { parseJson } from '../parts/config.tsx'
import { TextField } from '../parts/fields.tsx'

/** The fields of an item as they are typed. */
export interface ItemDraft {
  readonly display_name: string
  readonly description: string
  readonly price: string
  readonly meta: string
}

export const DRAFT_FIELDS = ['display_name', 'description', 'price', 'meta'] as const
export const EMPTY_DRAFT: ItemDraft = { display_name: '', description: '', price: '', meta: '{}' }

export function draftOf(item: Item, currency: string): ItemDraft {
  const { display_name, description, price, metadata } = item
  const shown = currency ? toDecimal(String(price), currency) : String(price)
  return { display_name, description, price: shown, meta: JSON.stringify(metadata, null, 2) }
}

export type Mistakes = { readonly [field: string]: string }

/** Converts what was typed to the fields of the API, or tells the mistakes. */
export function parseDraft({ price, meta, ...texts }: ItemDraft, currency: string) {
  const minor = currency ? toMinor(price, currency) : price.trim()
  const object = parseJson(meta)
  const mistakes: Mistakes = {
    ...(minor === undefined && { price: `must be an amount like ${exampleOf(currency)}` }),
    ...(object === undefined && { meta: 'must be a JSON object' }),
  }
  return { mistakes, fields: { ...texts, price: minor ?? '', meta: object ?? {} } }
}

interface ItemFieldsProps {
  readonly draft: ItemDraft
  readonly onChange: (draft: ItemDraft) => void
  readonly currency: string
  readonly mistakes: Mistakes
}

export function ItemFields({ draft, onChange, currency, mistakes }: ItemFieldsProps) {
  const field = (name: keyof ItemDraft) => ({
    ...{ name, value: draft[name], mistake: mistakes[name] },
    onChange: (value: string) => onChange({ ...draft, [name]: value }),
  })
  return (
    <>
      <TextField label="Name" {...field('display_name')} />
      <TextField
        label={currency ? `Price in ${currency}` : 'Price in minor units'}
        hint={
          currency
            ? undefined
            : 'The store has no currency: enter 499 for 4.99. Set one in the store.'
        }
        inputMode={currency && digitsOf(currency) > 0 ? 'decimal' : 'numeric'}
        {...field('price')}
      />
      <TextField label="Description" isLong {...field('description')} />
      <TextField label="Metadata" hint="A JSON object for your game." isLong {...field('meta')} />
    </>
  )
}

function exampleOf(currency: string): string {
  return toDecimal('499', currency)
}
