import type { TestContext } from 'node:test'

/** Speeds up `performance.now`, so that storages give up after milliseconds instead of seconds. */
export function hurry(t: TestContext): void {
  t.mock.method(performance, 'now', clockAt(200))
}

/** Slows it down: storages wait 30 times as long for a lock, as a busy machine may need. */
export function bePatient(t?: TestContext): void {
  if (t) t.mock.method(performance, 'now', clockAt(1 / 30))
  else performance.now = clockAt(1 / 30)
}

function clockAt(speed: number): () => number {
  const now = performance.now.bind(performance)
  const start = now()
  return () => start + (now() - start) * speed
}
