import { useState } from 'preact/hooks'
import type { ErasedUser, OwnedItem, PurchaseSummary, Store } from '../../client/manage.ts'
import { type Signal, useItemNames, useLoad } from '../data.ts'
import { formatCount, formatMoney } from '../format.ts'
import { download } from '../parts/download.ts'
import { ActionButton, FormButton, type Parsed } from '../parts/form.tsx'
import { Await, Empty, Notice } from '../parts/notice.tsx'
import { type Column, Facts, More, Page, Section, Text } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { linkTo } from '../place.ts'
import { useScope } from '../scope.tsx'
import { client } from '../session.ts'
import { countOf, purchaseColumns } from './purchases.tsx'

/** The most purchases of a player that are read from each store. */
const READ = 1000
const SHOWN = 200

/** What a player has bought and owns in the stores of a project. The newest purchase is first. */
async function loadPlayer([user_id, stores]: readonly [string, readonly Store[]], options: Signal) {
  const isOwn = (store_id?: string) => stores.some((store) => store.store_id === store_id)
  const read = async (sandbox: boolean) => {
    const query = { user_id, by: ['store', 'currency'], sandbox } as const
    const { summaries } = await client.purchases.summarize(query, options)
    return summaries.filter(({ store_id }) => isOwn(store_id))
  }
  const [live, sandbox] = await Promise.all([read(false), read(true)])
  const ids = [...new Set([...live, ...sandbox].map(({ store_id = '' }) => store_id))]
  const found = await Promise.all(
    ids.map(async (store_id) => {
      const query = { store_id, user_id, limit: READ }
      const [{ owned }, { purchases }] = await Promise.all([
        client.purchases.owned(query, options),
        client.purchases.list({ ...query, newest_first: true }, options),
      ])
      return { owned: owned.map((item) => ({ ...item, store_id })), purchases }
    }),
  )
  const purchases = found.flatMap((each) => each.purchases)
  return {
    live,
    sandbox,
    owned: found.flatMap((each) => each.owned),
    purchases: purchases.sort((a, b) => b.purchased_at.localeCompare(a.purchased_at)),
  }
}

/** What a player owns and has bought in all stores of the project. */
export function Player({ store, id: user_id }: { readonly store: Store; readonly id: string }) {
  const { stores = [], project } = useScope().value ?? {}
  const [erased, setErased] = useState<ErasedUser>()
  const loaded = useLoad(loadPlayer, [user_id, stores])
  const names = useItemNames(store.store_id)
  const player = { project_id: store.project_id, user_id }
  const save = async () => {
    const found = await client.users.export(player)
    download('player.json', 'application/json', JSON.stringify(found, null, 2))
  }
  const erase = async ({ delete: deletes }: Parsed) =>
    setErased(await client.users.erase({ ...player, delete: deletes }))
  return (
    <Page
      title={user_id}
      isId
      parent={['Purchases', linkTo('purchases')]}
      lead="A player, in all stores of the project"
      actions={
        <>
          <More>
            <EraseButton user_id={user_id} project={project?.name} erase={erase} />
          </More>
          <ActionButton label="Export" act={save} />
          <GrantButton store_id={store.store_id} user_id={user_id} items={[...names]} />
        </>
      }
    >
      {erased && (
        <Notice tone="good" title={`Erased ${formatCount(erased.purchases, 'purchase')}`}>
          <p>
            {erased.found
              ? `Where the id was, there is now the pseudonym ${erased.pseudonym}.`
              : 'Nothing is stored of this player.'}
          </p>
        </Notice>
      )}
      <Await loaded={loaded}>
        {({ live, sandbox, owned, purchases }) =>
          purchases.length > 0 ? (
            <>
              <Section title="Summary">
                <Facts
                  of={live}
                  fields={[
                    ['Spent', () => sumsOf(live, 'revenue')],
                    ['Refunded', () => sumsOf(live, 'refunded_total')],
                    ['Purchases', () => formatCount(countOf(live))],
                    ...(sandbox.length > 0 ? [inSandboxes(sandbox)] : []),
                  ]}
                />
              </Section>
              <Section title="Owns">
                {owned.length > 0 ? (
                  <Table label="Owned items" rows={owned} columns={OWNED} />
                ) : (
                  <p class="muted">Nothing at present.</p>
                )}
              </Section>
              <Section title="Purchases">
                <Table
                  label="Purchases"
                  rows={purchases.slice(0, SHOWN)}
                  columns={purchaseColumns(names, 'Player')}
                />
                {purchases.length > SHOWN && (
                  <p class="muted">The newest {SHOWN}. The export has all of them.</p>
                )}
              </Section>
            </>
          ) : (
            <Empty
              title="The player has no purchases in this project"
              text="Check the user id and the project."
            />
          )
        }
      </Await>
    </Page>
  )
}

const OWNED: Column<OwnedItem & { readonly store_id: string }>[] = [
  ['Item', ({ display_name }) => <Text isName text={display_name} />],
  ['quantity', 'number end'],
  'type',
  'store_id',
  ['first_purchased_at', 'hidden'],
  ['expires_at', 'hidden'],
]

/** The test purchases of a player, which cost nothing. */
function inSandboxes(totals: readonly PurchaseSummary[]): Column<unknown> {
  const spent = sumsOf(totals, 'revenue')
  return ['In sandboxes', () => `${formatCount(countOf(totals), 'purchase')}, ${spent}`]
}

/** Adds up an amount of the stores, by currency: `$4.99, €3.00`. The one of most purchases is first. */
function sumsOf(totals: readonly PurchaseSummary[], name: 'revenue' | 'refunded_total'): string {
  const sums = new Map<string, bigint>()
  for (const { currency, [name]: amount } of totals.toSorted((a, b) => b.purchased - a.purchased)) {
    if (currency) sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(amount))
  }
  const texts = [...sums].filter(([, sum]) => sum > 0n).map(([c, sum]) => formatMoney(`${sum}`, c))
  return texts.join(', ') || '–'
}

interface GrantProps {
  readonly store_id: string
  readonly user_id: string
  /** The items of the store: SKU and name. */
  readonly items: readonly (readonly [sku: string, name: string])[]
}

/** Records a purchase without a price. */
function GrantButton({ store_id, user_id, items }: GrantProps) {
  return (
    <FormButton
      label="Grant"
      title={`Grant an item to ${user_id}?`}
      submit="Grant the item"
      fields={[
        { label: 'Item', name: 'sku', options: items },
        { label: 'Quantity', name: 'quantity', inputMode: 'numeric', width: 8, parse: Number },
        { label: 'Time', name: 'purchased_at' },
      ]}
      isPrimary
      values={{ sku: items[0]?.[0] ?? '', quantity: '1', purchased_at: new Date().toISOString() }}
      send={({ sku, quantity, purchased_at }, { idempotencyKey }) => {
        // The same input has the same id, so that a second click grants nothing again.
        const transaction_id = `grant-${idempotencyKey}`
        const gift = { sku, quantity, purchased_at, is_grant: true } as const
        return client.purchases.record({ store_id, user_id, transaction_id, ...gift })
      }}
    >
      <p>
        Records a gift in {store_id}: a purchase without a price. The player owns the item at once,
        and webhooks tell your game. Mark it as refunded to take it back.
      </p>
    </FormButton>
  )
}

interface EraseProps {
  readonly user_id: string
  /** The name of the project. */
  readonly project: string | undefined
  readonly erase: (typed: Parsed) => Promise<unknown>
}

/** Erases a player after the user id was typed again. */
function EraseButton({ user_id, project, erase }: EraseProps) {
  return (
    <FormButton
      label="Erase"
      title={`Erase ${user_id}?`}
      isDangerous
      fields={[
        {
          label: 'Also delete the purchases',
          name: 'delete',
          kind: 'check',
          hint: 'The revenue of the past gets smaller. The same transactions cannot be imported again.',
        },
        {
          label: 'User id',
          name: 'user_id',
          hint: `Type ${user_id} to confirm`,
          parse: (typed) => (typed === user_id ? typed : undefined),
          mistake: `must be ${user_id}`,
        },
      ]}
      send={erase}
    >
      <p>
        In all stores of <strong>{project}</strong>, the purchases lose the user id, and a pseudonym
        replaces it in the activity. The amounts stay for your accounting. This cannot be undone.
      </p>
    </FormButton>
  )
}
