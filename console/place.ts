import { useEffect, useState } from 'preact/hooks'

/** The place in the console that the URL's fragment names: `#/items/itm_1?store=main`. */
export interface Place {
  readonly page: string
  /** The id of one record, or ''. */
  readonly id: string
  readonly query: { readonly [name: string]: string }
}

export type Query = { readonly [name: string]: string | undefined }

/** The chosen project and store stay in every link. */
const KEPT = ['project', 'store']

function currentPlace(): Place {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?')
  const [page = '', id = ''] = path.split('/').map(decode)
  return { page: page || 'overview', id, query: Object.fromEntries(new URLSearchParams(query)) }
}

/** Names no page if the text is not encoded correctly. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The link to a place. A parameter that is undefined or empty is left out. */
export function linkTo(page: string, id = '', query: Query = {}): string {
  const kept = Object.entries(currentPlace().query).filter(([name]) => KEPT.includes(name))
  const given = Object.entries({ ...Object.fromEntries(kept), ...query })
  const written = given.filter((each): each is [string, string] => Boolean(each[1]))
  const search = written.length > 0 ? `?${new URLSearchParams(written)}` : ''
  return `#/${page}${id && `/${encodeURIComponent(id)}`}${search}`
}

/** Goes to a place. `replace` leaves no entry in the history of the tab. */
export function goTo(link: string, replace = false): void {
  if (replace) location.replace(link)
  else location.hash = link
}

/** The elements with changes that are not saved. */
const unsaved = new Set<HTMLElement>()

/** Asks before the page is left while an element, such as a form, has changes that are not saved. */
export function setUnsaved(element: HTMLElement, isUnsaved: boolean): void {
  if (isUnsaved) unsaved.add(element)
  else unsaved.delete(element)
}

/** Asks, if something in `place` is not saved. After a yes, it is no longer asked about. */
export function mayLeave(place: Node = document): boolean {
  const left = [...unsaved].filter((element) => place.contains(element))
  if (left.length > 0 && !confirm('Leave this page? Unsaved changes may be lost.')) return false
  for (const element of left) unsaved.delete(element)
  return true
}

let shown = location.hash

// Stands before the listeners of the pages, which do not notice a place that is not entered.
addEventListener('hashchange', (event) => {
  if (location.hash !== shown) {
    if (mayLeave()) {
      shown = location.hash
      return
    }
    shown ||= '#/'
    location.replace(shown)
  }
  event.stopImmediatePropagation()
})
addEventListener('beforeunload', (event) => unsaved.size > 0 && event.preventDefault())

/** Removes the place from the URL, which may contain the id of a player. */
export function forgetPlace(): void {
  shown = '#/'
  history.replaceState(null, '', shown)
}

export function usePlace(): Place {
  const [place, setPlace] = useState(currentPlace)
  useListeners({ hashchange: () => setPlace(currentPlace()) })
  return place
}

type Listeners = { readonly [E in keyof WindowEventMap]?: (event: WindowEventMap[E]) => void }

/** Listens to events of the window, as they are given first, while the component is shown. */
export function useListeners(listeners: Listeners): void {
  useEffect(() => {
    const controller = new AbortController()
    for (const [name, listen] of Object.entries(listeners)) {
      addEventListener(name, listen as EventListener, { signal: controller.signal })
    }
    return () => controller.abort()
  }, [])
}
