import { useEffect } from 'preact/hooks'
import type { Loaded } from '../data.ts'

/** Loads a value again every few seconds until it is complete. */
export function usePolling<T>(loaded: Loaded<T>, isComplete: (value: T) => boolean): Loaded<T> {
  const { value, isLoading, reload } = loaded
  const isWaiting = value !== undefined && !isLoading && !isComplete(value)
  useEffect(() => {
    if (!isWaiting) return
    const timer = setTimeout(reload, PAUSE_MS)
    return () => clearTimeout(timer)
  }, [isWaiting, reload])
  return loaded
}

const PAUSE_MS = 2_000
