import { integer, object, oneOf, record, text } from '../shape.ts'

/** An item in the answers of `GET /items` and `GET /items/{item_id}`. */
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

/** The values that `GET /items` must return for an item, given the body of its `POST /items`. */
export function valuesOf({ id, sent }: { id: string; sent: { price: string; meta?: unknown } }) {
  const { meta, price, ...values } = sent
  return { ...values, id, price: Number(price), metadata: meta ?? {} }
}
