import { type Signal, useLoad } from '../data.ts'
import { Await, Empty } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'
import { purchaseColumns } from './purchases.tsx'

/** Finds purchases in all stores of the account, or a player. Goes to the only record with the id. */
async function findId(id: string, options: Signal) {
  const { purchases } = await client.purchases.list({ transaction_id: id, limit: 1000 }, options)
  const [first, second] = purchases
  if (second) return purchases
  const store = first?.store_id ?? (await storeOfPlayer(id, options))
  if (!store) return purchases
  const query = { project: undefined, store }
  goTo(first ? linkTo('purchases', first.transaction_id, query) : linkTo('player', id, query), true)
  return undefined
}

/** The first store in which a player has purchases. A sandbox comes last. */
async function storeOfPlayer(user_id: string, options: Signal) {
  const read = (sandbox: boolean) =>
    client.purchases.summarize({ user_id, by: ['store'], sandbox }, options)
  const found = await Promise.all([read(false), read(true)])
  return found.flatMap(({ summaries }) => summaries)[0]?.store_id
}

/** Finds an id that was typed in the header. */
export function Find() {
  const { q = '' } = usePlace().query
  const loaded = useLoad(findId, q)
  return (
    <Page title="Search" lead={`${q} in all stores of the account`}>
      <Await loaded={loaded}>
        {(purchases) =>
          purchases.length > 0 ? (
            <Table label="Purchases" rows={purchases} columns={purchaseColumns(new Map())} />
          ) : (
            <Empty
              title="Nothing has this id"
              text="Type the whole id of an order, a transaction or a player."
            />
          )
        }
      </Await>
    </Page>
  )
}
