import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import type { Page } from '../client/manage.ts'
import { noticeRefusal, useClient } from './session.ts'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

/**
 * Loads a value again whenever `inputs` change, and aborts the load before. While a later load
 * runs, or after it failed, the value is still the earlier one. `pause` returns the milliseconds
 * after which the value is loaded again while the tab is visible; undefined for never.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
  pause: (value: T) => number | undefined = () => undefined,
): Loaded<T> {
  const [state, setState] = useState<{
    value?: T | undefined
    error?: unknown
    isLoading: boolean
  }>({
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const client = useClient()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout>
    const start = () => {
      load(signal).then(
        (value) => {
          if (signal.aborted) return
          setState({ value, isLoading: false })
          const ms = pause(value)
          if (ms !== undefined) wait(ms)
        },
        (error) => {
          if (signal.aborted) return
          if (!noticeRefusal(error, client))
            setState(({ value }) => ({ value, error, isLoading: false }))
        },
      )
    }
    const wait = (ms: number) => {
      timer = setTimeout(() => (document.hidden ? wait(ms) : start()), ms)
    }
    setState(({ value }) => ({ value, isLoading: true }))
    start()
    return () => {
      controller.abort()
      clearTimeout(timer)
    }
  }, [...inputs, round, client])
  const reload = useCallback(() => setRound((round) => round + 1), [])
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload }
}

const PAGE_SIZE = 50

/** The most requests for one page: of a search, a page may have few rows although more follow. */
const STEPS = 20

export interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

/** Reads rows from a cursor on, until a page is full. */
export async function fillPage<N extends string, R>(
  list: (page: PageRequest) => Promise<Page<N, R>>,
  name: N,
  cursor: string | undefined,
): Promise<{ readonly rows: readonly R[]; readonly next: string | undefined }> {
  const rows: R[] = []
  let next = cursor
  for (let step = 0; step < STEPS; step++) {
    const limit = PAGE_SIZE - rows.length
    const found = await list({ limit, ...(next !== undefined && { cursor: next }) })
    rows.push(...found[name])
    next = found.next
    if (next === undefined || rows.length >= PAGE_SIZE) break
  }
  return { rows, next }
}

export interface Action<A extends readonly unknown[]> {
  /** Runs the action, unless it runs already. Resolves to whether it succeeded. */
  run(...args: A): Promise<boolean>
  readonly isRunning: boolean
  readonly error: unknown
  clear(): void
}

/** An action of the user, with its progress and its error. An action that fails may return false. */
export function useAction<A extends readonly unknown[]>(
  act: (...args: A) => Promise<unknown>,
): Action<A> {
  const [state, setState] = useState<{ isRunning: boolean; error?: unknown }>({ isRunning: false })
  const isRunning = useRef(false)
  const client = useClient()
  return {
    async run(...args) {
      if (isRunning.current) return false
      isRunning.current = true
      setState({ isRunning: true })
      try {
        const result = await act(...args)
        setState({ isRunning: false })
        return result !== false
      } catch (error) {
        noticeRefusal(error, client)
        const isStopped = error instanceof DOMException && error.name === 'AbortError'
        setState({ isRunning: false, ...(!isStopped && { error }) })
        return false
      } finally {
        isRunning.current = false
      }
    },
    ...{ isRunning: state.isRunning, error: state.error },
    clear: () => setState({ isRunning: false }),
  }
}
