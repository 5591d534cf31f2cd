import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { eventuallyHolds } from './eventually.ts'
import type { methods } from './storage/worker.ts'

/** A process that works on a storage; see storage/worker.ts. */
export function startWorker(t: TestContext) {
  const child = fork(new URL('./storage/worker.ts', import.meta.url))
  const gone = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))

  type Verbs = typeof methods
  return {
    async ask<V extends keyof Verbs>(verb: V, ...args: Parameters<Verbs[V]>): Promise<unknown> {
      child.send([verb, ...args])
      const died = gone.then(() => assert.fail(`the worker died of ${verb}`))
      const [answer] = await Promise.race([once(child, 'message'), died])
      if (answer.error) assert.fail(`${verb}: ${answer.error}`)
      return answer.result
    },
    /** Begins a call that freezes the process, and waits until it is frozen: see `openAndFreeze`. */
    async askUntilFrozen<V extends keyof Verbs>(verb: V, ...args: Parameters<Verbs[V]>) {
      child.send([verb, ...args])
      await eventuallyHolds(() => {
        const stat = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
        assert.match(stat, /\) T /)
      })
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    /** Runs steps on a line of records until it is killed. `steps` counts the acknowledged ones. */
    takeSteps(line: string): { readonly steps: number } {
      const reported = { steps: 0 }
      child.on('message', (message: { step: number }) => {
        reported.steps = message.step
      })
      child.send(['takeSteps', line])
      return reported
    },
    /** Stops the process until `resume`, like a frozen machine. */
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    async kill(): Promise<void> {
      child.kill('SIGKILL')
      await gone
    },
    async end(): Promise<void> {
      child.disconnect()
      await gone
    },
  }
}
