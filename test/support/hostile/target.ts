import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { createTill, openSqliteStorage } from '../../../lib/index.ts'
import { serveProcess } from '../cli.ts'
import { createShop } from '../till.ts'

/** The shop that a hostile input is sent to. */
export type Target = Awaited<ReturnType<typeof createTarget>>

/** Creates a shop in a new database file, before the server starts. */
export async function createTarget(db: string) {
  const storage = await openSqliteStorage(db)
  const till = createTill({ storage })
  const { account, project_id, public_key, token, account_id, item } = await createShop(till)
  const publicKeys = new Map<string, string>()
  return {
    account_id,
    account_key: account.account_key,
    public_key,
    token,
    /** Creates a store with `count` items, each with a text of `length` characters. */
    async createItems(store_id: string, count: number, length = 100) {
      await till.stores.create(account, { project_id, store_id, store_type: 'web' })
      const texts = {
        display_name: 'Item',
        description: '',
        metadata: { text: 'x'.repeat(length) },
      }
      for (let i = 0; i < count; i++) {
        const id = `itm_${store_id}_${i}`
        await storage.insertItem({ ...item, ...texts, id, store_id, name: `item_${i}` })
      }
    },
    /** Creates a project with `count` stores, each with a large configuration. */
    async createStores(name: string, count: number) {
      const game = { name, bundle_id: 'com.example.many', platform: 'web' }
      const made = await till.projects.create(account, { account_id, ...game })
      publicKeys.set(name, made.public_key)
      const store_config = { text: 'x'.repeat(60_000) }
      const own = { project_id: made.id, store_type: 'web', store_config } as const
      const creates = Array.from({ length: count }, (_, i) =>
        till.stores.create(account, { ...own, store_id: `${name}_${i}` }),
      )
      await Promise.all(creates)
    },
    /** The public key of a project that `createStores` made. */
    publicKeyOf: (name: string) => publicKeys.get(name) ?? '',
    close: () => till.close(),
  }
}

/** A `serve` process with a small heap. */
export type Server = Awaited<ReturnType<typeof startServer>>

export async function startServer(t: TestContext, db: string) {
  const args = ['--db', db, '--port', '0', '--log', 'errors', '--trust-proxy']
  const limits = ['--rate-limit', '1000000', '--rate-limit-address', '1000000']
  const env = { NODE_OPTIONS: '--max-old-space-size=256' }
  const { url, child, closed, log } = await serveProcess(t, [...args, ...limits], env)
  const proc = (file: string) => readFileSync(`/proc/${child.pid}/${file}`, 'utf8')
  const status = (name: string) =>
    1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(proc('status'))?.[1])
  return {
    url,
    log,
    /** CPU time of the process in milliseconds. */
    cpuTime() {
      // The first number of `schedstat` is the CPU time of one thread in nanoseconds.
      const threads = readdirSync(`/proc/${child.pid}/task`)
      const times = threads.map((id) => Number(proc(`task/${id}/schedstat`).split(' ')[0]))
      return times.reduce((sum, time) => sum + time, 0) / 1e6
    },
    /** Resident memory in bytes. `resetPeak` starts a new peak. */
    memory: () => ({ now: status('VmRSS'), peak: status('VmHWM') }),
    resetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    stop() {
      child.kill('SIGTERM')
      return closed
    },
  }
}
