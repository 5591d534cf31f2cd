import type { TestContext } from 'node:test'

/** Lets a test see in milliseconds what storages give up after seconds. */
export function hurry(t: TestContext): void {
  const now = performance.now.bind(performance)
  const start = now()
  t.mock.method(performance, 'now', () => start + (now() - start) * 200)
}
