import { integer, object, oneOf, record, text } from '../shape.ts'

/** An item in the answers of endpoints 5 and 6. */
export const ITEM = record({
  id: text,
  name: text,
  display_name: text,
  description: text,
  price: integer,
  type: oneOf('consumable', 'non_consumable', 'subscription'),
  store_id: text,
  metadata: object,
})

/** The values that endpoints 5 and 6 return for an item that endpoint 4 created. */
export function valuesOf({ id, sent }: { id: string; sent: { price: string; meta?: unknown } }) {
  const { meta, price, ...values } = sent
  return { ...values, id, price: Number(price), metadata: meta ?? {} }
}
