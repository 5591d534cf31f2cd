import { useState } from 'preact/hooks'
import type { Store } from '../../client/manage.ts'
import { useAction, usePages } from '../data.ts'
import { formatCount } from '../format.ts'
import { download } from '../parts/download.ts'
import { TextField } from '../parts/fields.tsx'
import { Empty, Failure } from '../parts/notice.tsx'
import { Page, Section, Time } from '../parts/page.tsx'
import { Pages } from '../parts/table.tsx'
import { goTo, linkTo, usePlace } from '../place.ts'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { ErasePlayer } from './player-erase.tsx'
import { Purchases } from './purchases.tsx'

export function Player() {
  const { id } = usePlace()
  return (
    <WithStore title="Player">
      {(store) => (id ? <OnePlayer {...{ store, user_id: id }} /> : <FindPlayer store={store} />)}
    </WithStore>
  )
}

function FindPlayer({ store: { store_id } }: { readonly store: Store }) {
  const [typed, setTyped] = useState('')
  const find = (event: Event) => {
    event.preventDefault()
    if (typed.trim()) goTo(linkTo('player', typed.trim()))
  }
  return (
    <Page title="Player" lead="What a player owns and has bought">
      <form onSubmit={find} class="filters" aria-label="Find a player">
        <TextField
          label="User id"
          name="user_id"
          value={typed}
          onChange={setTyped}
          hint="Exactly as your game sends it"
        />
        <div class="actions beside">
          <button type="submit" class="primary">
            Show the player
          </button>
        </div>
      </form>
      <Section title="Purchases of all players">
        <Purchases store_id={store_id} />
      </Section>
    </Page>
  )
}

interface OnePlayerProps {
  readonly store: Store
  readonly user_id: string
}

function OnePlayer({ store: { store_id, project_id }, user_id }: OnePlayerProps) {
  const client = useClient()
  const [isErasing, setErasing] = useState(false)
  const [round, setRound] = useState(0)
  const owned = usePages(
    async (page, signal) => {
      const found = await client.purchases.owned({ store_id, user_id, ...page }, { signal })
      return { rows: found.owned, next: found.next }
    },
    [store_id, user_id, round],
  )
  const save = useAction(async () => {
    const found = await client.users.export({ project_id, user_id })
    download('player.json', 'application/json', JSON.stringify(found, null, 2))
  })
  return (
    <Page
      title={user_id}
      lead={<a href={linkTo('player')}>Another player</a>}
      actions={
        <>
          <button type="button" aria-busy={save.isRunning} onClick={() => save.run()}>
            Export
          </button>
          <button type="button" class="danger" onClick={() => setErasing(true)}>
            Erase
          </button>
        </>
      }
    >
      <Failure error={save.error} />
      {isErasing && (
        <ErasePlayer
          {...{ project_id, user_id }}
          onClose={() => {
            setErasing(false)
            setRound(round + 1)
          }}
        />
      )}
      <Section title={`Owns in ${store_id}`}>
        <Pages
          label="Owned items"
          paged={owned}
          keyOf={({ sku }) => sku}
          columns={[
            { label: 'SKU', cell: ({ sku }) => <code>{sku}</code> },
            { label: 'Quantity', cell: ({ quantity }) => formatCount(quantity), isNumber: true },
            { label: 'First', cell: ({ first_purchased_at: at }) => <Time at={at} /> },
            { label: 'Last', cell: ({ last_purchased_at: at }) => <Time at={at} /> },
          ]}
          empty={
            <Empty title="The player owns nothing in this store">
              <p>Check the user id and the store, or import purchases.</p>
            </Empty>
          }
        />
      </Section>
      <Section title="Purchases">
        <Purchases {...{ store_id, user_id }} key={round} />
      </Section>
    </Page>
  )
}
