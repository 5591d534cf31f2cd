import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { useLoad } from './data.ts'
import { Activity } from './pages/activity.tsx'
import { Import } from './pages/import.tsx'
import { Items } from './pages/items.tsx'
import { Keys } from './pages/keys.tsx'
import { Overview } from './pages/overview.tsx'
import { Player } from './pages/player.tsx'
import { Projects } from './pages/projects.tsx'
import { PurchasesPage } from './pages/purchases.tsx'
import { StorePage } from './pages/store.tsx'
import { Webhooks } from './pages/webhooks.tsx'
import { setDropped } from './parts/dropped.ts'
import { Icon } from './parts/icon.tsx'
import { Empty } from './parts/notice.tsx'
import { Page, Utc } from './parts/page.tsx'
import { goTo, linkTo, mayLeave, usePlace } from './place.ts'
import { ScopeChoice, ScopeProvider } from './scope.tsx'
import { signOut, useClient } from './session.ts'

/** The pages. One without a label is not in the navigation: another page links it. */
const PAGES: { readonly [page: string]: readonly [page: ComponentType, label?: string] } = {
  overview: [Overview, 'Overview'],
  purchases: [PurchasesPage, 'Purchases'],
  items: [Items, 'Items'],
  import: [Import, 'Import'],
  player: [Player],
  projects: [Projects, 'Projects and stores'],
  stores: [StorePage],
  webhooks: [Webhooks, 'Webhooks'],
  activity: [Activity, 'Activity'],
  keys: [Keys, 'Keys'],
}

const UTC = 'tillkit.utc'

/** The frame of all pages: who is signed in, the navigation, the chosen store and the page. */
export function Shell() {
  const { page, id } = usePlace()
  const [isUtc, setUtc] = useState(sessionStorage.getItem(UTC) === 'true')
  const [isMenuOpen, setMenuOpen] = useState(false)
  useEffect(() => setMenuOpen(false), [page, id])
  useKeys(() => setMenuOpen(false))
  const isOver = useDrop()
  const switchZone = () => {
    sessionStorage.setItem(UTC, String(!isUtc))
    setUtc(!isUtc)
  }
  const [Shown = Unknown] = PAGES[page] ?? []
  return (
    <ScopeProvider>
      <div class={isOver ? 'shell over' : 'shell'}>
        <button type="button" class="skip" onClick={() => document.querySelector('h1')?.focus()}>
          Skip to the content
        </button>
        <header class="top">
          <a class="brand" href={linkTo('overview')}>
            tillkit
          </a>
          <ScopeChoice />
          <button
            type="button"
            class="menu"
            aria-expanded={isMenuOpen}
            aria-controls="menu"
            onClick={() => setMenuOpen(!isMenuOpen)}
          >
            Menu
          </button>
        </header>
        <div id="menu" class={isMenuOpen ? 'side open' : 'side'}>
          <div>
            <nav aria-label="Pages">
              {Object.entries(PAGES).map(
                ([name, [, label]]) =>
                  label && (
                    <a key={name} href={linkTo(name)} aria-current={name === page && 'page'}>
                      <Icon name={name} />
                      {label}
                    </a>
                  ),
              )}
            </nav>
            <section class="foot" aria-label="Account">
              <Account />
              <button type="button" aria-pressed={isUtc} onClick={switchZone}>
                Times in UTC
              </button>
              <button type="button" onClick={() => signOut()}>
                Sign out
              </button>
            </section>
          </div>
        </div>
        <main>
          <Utc.Provider value={isUtc}>
            <Shown key={`${page}/${id}`} />
          </Utc.Provider>
        </main>
      </div>
    </ScopeProvider>
  )
}

/** `/` goes to the search of the page, or to that of the purchases. Escape closes the menu. */
function useKeys(close: () => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key === 'Escape') close()
      const isTyping = (event.target as Element).matches('input, select, textarea')
      if (event.key !== '/' || isTyping || document.querySelector('dialog[open]')) return
      event.preventDefault()
      const search = document.querySelector<HTMLElement>('main input[type="search"]')
      if (search) search.focus()
      else goTo(linkTo('purchases'))
    }
    addEventListener('keydown', press)
    return () => removeEventListener('keydown', press)
  }, [])
}

/** A file that is dropped on any page is imported. Returns whether one is over the page. */
function useDrop(): boolean {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    const move = (event: DragEvent) => {
      event.preventDefault() // otherwise the browser leaves the page for a dropped file
      const isInside = event.type === 'dragover' && !document.querySelector('dialog[open]')
      setOver(isInside && event.dataTransfer?.types.includes('Files') === true)
    }
    const drop = (event: DragEvent) => {
      const isTaken = event.defaultPrevented
      move(event)
      const file = event.dataTransfer?.files[0]
      if (!file || isTaken || document.querySelector('dialog[open]') || !mayLeave()) return
      setDropped(file)
      goTo(linkTo('import'))
    }
    const events = { dragover: move, dragleave: move, drop } as const
    for (const [name, listen] of Object.entries(events)) addEventListener(name, listen as never)
    return () => {
      for (const [name, listen] of Object.entries(events))
        removeEventListener(name, listen as never)
    }
  }, [])
  return isOver
}

function Account() {
  const client = useClient()
  const { value } = useLoad((signal) => client.account({ signal }), [])
  return <p class="muted">{value?.name}</p>
}

function Unknown() {
  return (
    <Page title="Not found">
      <Empty title="The console has no such page">
        <a class="button primary" href={linkTo('overview')}>
          Go to the overview
        </a>
      </Empty>
    </Page>
  )
}
