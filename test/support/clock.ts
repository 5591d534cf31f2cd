import type { TestContext } from 'node:test'

/** Lets a test see in milliseconds what storages give up after seconds. */
export function hurry(t: TestContext): void {
  t.mock.method(performance, 'now', clockAt(200))
}

/** Lets storages wait 30 times as long for a lock, which a busy machine may need. */
export function bePatient(t?: TestContext): void {
  if (t) t.mock.method(performance, 'now', clockAt(1 / 30))
  else performance.now = clockAt(1 / 30)
}

function clockAt(speed: number): () => number {
  const now = performance.now.bind(performance)
  const start = now()
  return () => start + (now() - start) * speed
}
