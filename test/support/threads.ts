import type { TestContext } from 'node:test'
import type { Worker } from 'node:worker_threads'

/** Collects the threads that start during the test. */
export function threadsOf(t: TestContext, started: (thread: Worker) => void = () => {}): Worker[] {
  const threads: Worker[] = []
  const add = (thread: Worker) => {
    threads.push(thread)
    started(thread)
  }
  process.on('worker', add)
  t.after(() => process.off('worker', add))
  return threads
}
