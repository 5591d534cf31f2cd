import type { ComponentType } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Store } from '../client/manage.ts'
import { useLoad } from './data.ts'
import { Activity } from './pages/activity.tsx'
import { Find } from './pages/find.tsx'
import { Import } from './pages/import.tsx'
import { ItemPage } from './pages/item.tsx'
import { Items } from './pages/items.tsx'
import { Keys } from './pages/keys.tsx'
import { Overview } from './pages/overview.tsx'
import { Player } from './pages/player.tsx'
import { ProjectPage } from './pages/project.tsx'
import { Projects } from './pages/projects.tsx'
import { PurchasePage } from './pages/purchase.tsx'
import { Purchases } from './pages/purchases.tsx'
import { StorePage } from './pages/store.tsx'
import { WebhookPage } from './pages/webhook.tsx'
import { Webhooks } from './pages/webhooks.tsx'
import { Button, Icon } from './parts/button.tsx'
import { importDropped } from './parts/file.tsx'
import { Empty } from './parts/notice.tsx'
import { Page, Text, Utc } from './parts/page.tsx'
import { goTo, linkTo, useListeners, usePlace } from './place.ts'
import { ScopeChoice, ScopeProvider, WithStore } from './scope.tsx'
import { client, signOut } from './session.ts'

/** The pages with one name: of all records, and of the one that the URL names. */
interface Pages<Props> {
  readonly label: string
  readonly all?: ComponentType<Props>
  readonly one?: ComponentType<Props>
}

/** The pages that show the chosen store. */
const STORE_PAGES: { readonly [page: string]: Pages<{ id: string; store: Store }> } = {
  overview: { label: 'Overview', all: Overview },
  purchases: { label: 'Purchases', all: Purchases, one: PurchasePage },
  items: { label: 'Items', all: Items, one: ItemPage },
  import: { label: 'Import', all: Import },
  player: { label: 'Player', one: Player },
}

const ACCOUNT_PAGES: { readonly [page: string]: Pages<{ id: string }> } = {
  projects: { label: 'Projects and stores', all: Projects, one: ProjectPage },
  find: { label: '', all: Find },
  stores: { label: 'Store', one: StorePage },
  webhooks: { label: 'Webhooks', all: Webhooks, one: WebhookPage },
  activity: { label: 'Activity', all: Activity },
  keys: { label: 'Keys', all: Keys },
}

/** The pages in the menu. Another page links the others. */
const MENU = Object.entries({ ...STORE_PAGES, ...ACCOUNT_PAGES }).filter(
  ([, { all, label }]) => all && label,
)

/** Where the menu has the pages that it does not link. */
const MENU_OF: { readonly [page: string]: string } = { player: 'purchases', stores: 'projects' }

const UTC = 'tillkit.utc'

/** The frame of all pages: who is signed in, the navigation, the chosen store and the page. */
export function Shell() {
  const { page, id } = usePlace()
  const [isUtc, setUtc] = useState(sessionStorage.getItem(UTC) === 'true')
  const [isMenuOpen, setMenuOpen] = useState(false)
  useLayoutEffect(() => setMenuOpen(false), [page, id])
  const { value: account } = useLoad((_, options) => client.account(options), '')
  useKeys(() => setMenuOpen(false))
  const isOver = useDrop()
  const switchZone = () => {
    sessionStorage.setItem(UTC, String(!isUtc))
    setUtc(!isUtc)
  }
  return (
    <ScopeProvider>
      <div class={isOver ? 'shell over' : 'shell'}>
        <Button
          label="Skip to the content"
          class="skip"
          onClick={() => document.querySelector('h1')?.focus()}
        />
        <header class="top">
          <a class="brand" href={linkTo('overview')}>
            tillkit
          </a>
          {(page in STORE_PAGES || page === 'webhooks') && (
            <ScopeChoice hasStore={page in STORE_PAGES} />
          )}
          <Search />
          <Button
            label="Menu"
            class="menu"
            aria-expanded={isMenuOpen}
            aria-controls="menu"
            onClick={() => setMenuOpen(!isMenuOpen)}
          />
        </header>
        <div id="menu" class={isMenuOpen ? 'side open' : 'side'}>
          <div>
            <nav aria-label="Pages">
              {MENU.map(([name, { label }]) => (
                <a
                  key={name}
                  href={linkTo(name)}
                  aria-current={name === (MENU_OF[page] ?? page) && 'page'}
                >
                  <Icon name={name} />
                  {label}
                </a>
              ))}
            </nav>
            <section class="foot" aria-label="Account">
              {account && <Text isName text={account.name} />}
              <Button
                label="Show times in UTC"
                class="quiet"
                aria-pressed={isUtc}
                onClick={switchZone}
              />
              <Button label="Sign out" class="quiet" onClick={signOut} />
            </section>
          </div>
        </div>
        <main>
          <Utc.Provider value={isUtc}>
            <Content page={page} id={id} />
          </Utc.Provider>
        </main>
      </div>
    </ScopeProvider>
  )
}

/** The page that the URL names. */
function Content({ page, id }: { readonly page: string; readonly id: string }) {
  const key = `${page}/${id}`
  const kind = id ? 'one' : 'all'
  const AccountPage = ACCOUNT_PAGES[page]?.[kind]
  const StorePage = STORE_PAGES[page]?.[kind]
  if (AccountPage) return <AccountPage key={key} id={id} />
  if (!StorePage) {
    const next = ['Go to the overview', linkTo('overview')] as const
    return (
      <Page title="Not found">
        <Empty title="The console has no such page" next={next} />
      </Page>
    )
  }
  return (
    <WithStore key={key} title={STORE_PAGES[page]?.label ?? ''}>
      {(store) => <StorePage key={store.store_id} store={store} id={id} />}
    </WithStore>
  )
}

/** Finds purchases by the ids of transactions and orders in all stores, and by the id of a player. */
function Search() {
  const { q = '' } = usePlace().query
  const input = useRef<HTMLInputElement>(null)
  const find = (event: Event) => {
    event.preventDefault()
    const typed = input.current?.value.trim()
    if (!typed) return
    input.current?.blur() // the title of the page gets the focus
    goTo(linkTo('find', '', { q: typed }))
  }
  return (
    <search>
      <form class="find" onSubmit={find}>
        <input
          key={q}
          ref={input}
          type="search"
          id="find"
          aria-label="Find an order, a transaction or a player"
          aria-keyshortcuts="/"
          placeholder="Order or player id"
          spellcheck={false}
          autocomplete="off"
          defaultValue={q}
        />
      </form>
    </search>
  )
}

/** `/` goes to the search in the header. Escape closes the menu. */
function useKeys(close: () => void) {
  useListeners({
    keydown(event) {
      if (event.key === 'Escape') close()
      const isTyping = (event.target as Element).matches('input, select, textarea')
      if (event.key !== '/' || isTyping || document.querySelector('dialog[open]')) return
      event.preventDefault()
      document.getElementById('find')?.focus()
    },
  })
}

/** A file that is dropped on any page is imported. Returns whether one is over the page. */
function useDrop(): boolean {
  const [isOver, setOver] = useState(false)
  const take = (event: DragEvent) => {
    event.preventDefault() // otherwise the browser leaves the page for a dropped file
    const { types = [], files = [] } = event.dataTransfer ?? {}
    const isTaken = types.includes('Files') && !document.querySelector('dialog[open]')
    setOver(isTaken && event.type === 'dragover')
    const [file] = files
    if (isTaken && event.type === 'drop' && file) importDropped(file)
  }
  useListeners({ dragover: take, dragleave: take, drop: take })
  return isOver
}
