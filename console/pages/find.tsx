import { useEffect } from 'preact/hooks'
import type { Purchase } from '../../client/manage.ts'
import { useLoad } from '../data.ts'
import { Await, Empty, Loading } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { client } from '../session.ts'
import { purchaseColumns } from './purchases.tsx'

type Options = { readonly signal: AbortSignal }

/** What an id stands for: purchases in all stores of the account, or the stores of a player. */
async function findId(id: string, options: Options) {
  const { purchases } = await client.purchases.list({ transaction_id: id, limit: 1000 }, options)
  const stores = purchases.length === 0 ? await storesOfPlayer(id, options) : []
  return { purchases, link: linkOf(purchases, id, stores) }
}

/** The link to the only record that was found. */
function linkOf([first, second]: readonly Purchase[], id: string, [store]: readonly string[]) {
  if (first && !second) return linkTo('purchases', first.transaction_id, { store: first.store_id })
  return store && linkTo('player', id, { project: undefined, store })
}

/** The stores in which a player has purchases, first those that are no sandboxes. */
async function storesOfPlayer(user_id: string, options: Options) {
  const read = (sandbox: boolean) =>
    client.purchases.summarize({ user_id, by: ['store'], sandbox }, options)
  const found = await Promise.all([read(false), read(true)])
  return found.flatMap(({ summaries }) => summaries.map(({ store_id = '' }) => store_id))
}

/** Finds an id that was typed in the header. If it stands for one record, goes there. */
export function Find() {
  const { q = '' } = usePlace().query
  const loaded = useLoad((signal) => findId(q, { signal }), [q])
  const link = loaded.isLoading ? undefined : loaded.value?.link
  useEffect(() => {
    if (link) goTo(link, true)
  }, [link])
  return (
    <Page title="Found" lead={`${q} in all stores of the account`}>
      {link || loaded.isLoading ? (
        <Loading what="Searching" />
      ) : (
        <Await loaded={loaded}>
          {({ purchases }) =>
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
      )}
    </Page>
  )
}
