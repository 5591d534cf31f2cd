import { useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../client/manage.ts'
import { client, noticeRefusal } from './session.ts'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
}

interface LoadOptions {
  /** Loads the value again after so many milliseconds, while the tab is visible. */
  readonly interval?: number | undefined
  /** Waits so many milliseconds after a change of the input, because a person may type on. */
  readonly delay?: number
}

/** The functions that load the values on the page again. */
const reloads = new Set<() => void>()

/** Loads again all that the page shows, because an action may have changed it. */
export function reloadAll(): void {
  for (const reload of reloads) reload()
}

/** The options of a method of the client. */
export interface Signal {
  readonly signal: AbortSignal
}

/**
 * Loads a value by a method of the client, or a function like one. Loads it again whenever `input`
 * changes and after each action, and aborts the load before. While a later load runs, or after it
 * failed, the value is still the earlier one.
 */
export function useLoad<I, T>(
  load: (input: I, options: Signal) => Promise<T>,
  input: I,
  { interval, delay = 0 }: LoadOptions = {},
): Loaded<T> {
  const first = { value: undefined, error: undefined, isLoading: true }
  const [state, setState] = useState<Loaded<T>>(first)
  const [round, setRound] = useState(0)
  useEffect(() => {
    const reload = () => setRound((round) => round + 1)
    reloads.add(reload)
    return () => reloads.delete(reload)
  }, [])
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout>
    const start = async () => {
      const used = client
      try {
        const value = await load(input, { signal })
        if (signal.aborted) return
        setState({ value, error: undefined, isLoading: false })
        if (interval !== undefined) wait(interval)
      } catch (error) {
        if (signal.aborted || noticeRefusal(error, used)) return
        setState(({ value }) => ({ value, error, isLoading: false }))
      }
    }
    const wait = (ms: number) => {
      timer = setTimeout(() => (document.hidden ? wait(ms) : start()), ms)
    }
    setState(({ value }) => ({ value, error: undefined, isLoading: true }))
    timer = setTimeout(start, state.value === undefined ? 0 : delay)
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [JSON.stringify(input), round])
  return state
}

const PAGE_SIZE = 50

/** The most requests for one page: of a search, a page may have few rows although more follow. */
const STEPS = 20

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

/** Reads rows from a cursor on, until a page of some size is full. */
export async function fillPage<N extends string, R>(
  list: (page: PageRequest) => Promise<Page<N, R>>,
  cursor?: string,
  size = PAGE_SIZE,
  steps = STEPS,
): Promise<{ readonly rows: readonly R[]; readonly next: string | undefined }> {
  const rows: R[] = []
  let next = cursor
  for (let step = 0; step < steps; step++) {
    const limit = Math.min(size - rows.length, 1000)
    const found = await list({ limit, ...(next !== undefined && { cursor: next }) })
    rows.push(...rowsOf(found))
    next = found.next
    if (next === undefined || rows.length >= size) break
  }
  return { rows, next }
}

/** The rows of a page, which are its only array. */
function rowsOf<R>(page: Page<string, R>): readonly R[] {
  return Object.values(page).find(Array.isArray) ?? []
}

/** An action of the user, with its progress and its error. One that changes nothing may return false. */
export function useAction<A extends readonly unknown[]>(act: (...args: A) => Promise<unknown>) {
  const [state, setState] = useState<{ isRunning: boolean; error?: unknown }>({ isRunning: false })
  const isRunning = useRef(false)
  return {
    /** Runs the action, unless it runs already. Resolves to whether it succeeded. */
    async run(...args: A): Promise<boolean> {
      if (isRunning.current) return false
      isRunning.current = true
      setState({ isRunning: true })
      const used = client
      try {
        const result = await act(...args)
        setState({ isRunning: false })
        if (result !== false) reloadAll()
        return result !== false
      } catch (error) {
        noticeRefusal(error, used)
        const isStopped = error instanceof DOMException && error.name === 'AbortError'
        setState({ isRunning: false, ...(!isStopped && { error }) })
        return false
      } finally {
        isRunning.current = false
      }
    },
    isRunning: state.isRunning,
    error: state.error,
  }
}

/** The names of a store's items by SKU: of the first thousand. */
export function useItemNames(store_id: string): ReadonlyMap<string, string> {
  const { value } = useLoad(client.items.list, { store_id, limit: 1000 })
  return new Map(value?.items.map(({ name, display_name }) => [name, display_name]))
}
