import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { randomHex } from '../client/random.ts'
import { noticeRefusal, useClient } from './session.ts'

export interface Loaded<T> {
  readonly value: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

/**
 * Loads a value again whenever `inputs` change, and aborts the load before. While a later load
 * runs, the value is still the earlier one, also until somebody signs in again.
 */
export function useLoad<T>(
  load: (signal: AbortSignal) => Promise<T>,
  inputs: readonly unknown[],
): Loaded<T> {
  const [state, setState] = useState<{ value?: T; error?: unknown; isLoading: boolean }>({
    isLoading: true,
  })
  const [round, setRound] = useState(0)
  const client = useClient()
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setState(({ value }) => ({ ...(value !== undefined && { value }), isLoading: true }))
    load(signal).then(
      (value) => signal.aborted || setState({ value, isLoading: false }),
      (error) => {
        if (signal.aborted) return
        if (!noticeRefusal(error)) setState({ error, isLoading: false })
      },
    )
    return () => controller.abort()
  }, [...inputs, round, client])
  const reload = useCallback(() => setRound((round) => round + 1), [])
  return { value: state.value, error: state.error, isLoading: state.isLoading, reload }
}

export interface Rows<R> {
  readonly rows: readonly R[]
  readonly next?: string | undefined
}

export interface Paged<R> extends Loaded<Rows<R>> {
  readonly page: number
  /** Shows the next page; missing on the last page. */
  readonly forward: (() => void) | undefined
  readonly back: (() => void) | undefined
}

const PAGE_SIZE = 50

/** The most requests for one page: of a search, a page may have few rows although more follow. */
const STEPS = 20

interface PageRequest {
  readonly limit: number
  readonly cursor?: string
}

type List<R> = (page: PageRequest, signal: AbortSignal) => Promise<Rows<R>>

/** Loads one page of a list at a time. A change of `inputs` goes to the first page. */
export function usePages<R>(list: List<R>, inputs: readonly unknown[]): Paged<R> {
  const key = JSON.stringify(inputs)
  const [{ of, cursors }, setTrail] = useState({ of: key, cursors: [] as readonly string[] })
  const passed = of === key ? cursors : []
  const cursor = passed.at(-1)
  const loaded = useLoad((signal) => fillPage(list, cursor, signal), [key, cursor])
  const next = loaded.isLoading ? undefined : loaded.value?.next
  const show = (cursors: readonly string[]) => setTrail({ of: key, cursors })
  return {
    ...loaded,
    page: passed.length + 1,
    forward: next === undefined ? undefined : () => show([...passed, next]),
    back: passed.length === 0 ? undefined : () => show(passed.slice(0, -1)),
  }
}

async function fillPage<R>(
  list: List<R>,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Rows<R>> {
  const rows: R[] = []
  let next = cursor
  for (let step = 0; step < STEPS; step++) {
    const limit = PAGE_SIZE - rows.length
    const found = await list({ limit, ...(next !== undefined && { cursor: next }) }, signal)
    rows.push(...found.rows)
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
        noticeRefusal(error)
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

/**
 * The options of a creation: one idempotency key for each input. The same input once more, after
 * its answer was lost, creates nothing again.
 */
export function useCreation(): (input: object) => { readonly idempotencyKey: string } {
  const last = useRef({ text: '', idempotencyKey: '' })
  return (input) => {
    const text = JSON.stringify(input)
    if (text !== last.current.text) last.current = { text, idempotencyKey: randomHex() }
    return { idempotencyKey: last.current.idempotencyKey }
  }
}
