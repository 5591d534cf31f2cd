import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createTill, openSqliteStorage } from '../../lib/index.ts'
import { createShop } from '../support/till.ts'

/** The shop that a hostile input is sent to. */
export interface Target {
  readonly account_id: string
  readonly account_key: string
  readonly public_key: string
  readonly token: string
  /** Creates a store with `count` items, each with a description of `length` characters. */
  createItems(store_id: string, count: number, length?: number): Promise<void>
  /** Creates a project with `count` stores, each with a large configuration. */
  createStores(name: string, count: number): Promise<void>
  /** The public key of a project that `createStores` made. */
  publicKeyOf(name: string): string
}

/** Creates a shop in a new database file, before the server starts. */
export async function createTarget(db: string): Promise<Target & { close(): Promise<void> }> {
  const storage = await openSqliteStorage(db)
  const till = createTill({ storage })
  const { account, project_id, public_key, token, account_id, item } = await createShop(till)
  const publicKeys = new Map<string, string>()
  return {
    account_id,
    account_key: account.account_key,
    public_key,
    token,
    async createItems(store_id, count, length = 100) {
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
    async createStores(name, count) {
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
    publicKeyOf: (name) => publicKeys.get(name) ?? '',
    close: () => till.close(),
  }
}

/** A `serve` process with a small heap. */
export interface Server {
  readonly url: string
  readonly child: ChildProcess
  /** CPU time of the process in milliseconds. */
  cpuTime(): number
  /** Resident memory in bytes. `resetPeak` starts a new peak. */
  memory(): { readonly now: number; readonly peak: number }
  resetPeak(): void
  isAlive(): boolean
  stop(): Promise<void>
}

export const HEAP_MIB = 256

export async function startServer(db: string, log: (line: string) => void): Promise<Server> {
  const args = ['--db', db, '--port', '0', '--log', 'errors', '--trust-proxy']
  const limits = ['--rate-limit', '1000000', '--rate-limit-address', '1000000']
  const node = [`--max-old-space-size=${HEAP_MIB}`, 'dist/cli/main.js', 'serve']
  const child = spawn(process.execPath, [...node, ...args, ...limits])
  child.stderr.on('data', (chunk) => log(String(chunk)))
  const [first] = await Promise.race([once(child.stdout, 'data'), once(child, 'exit')])
  const url = /http:\/\/\S+/.exec(String(first))?.[0]
  if (!url) throw new Error('the server did not start')
  const proc = (file: string) => readFileSync(`/proc/${child.pid}/${file}`, 'utf8')
  const status = (name: string) =>
    1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(proc('status'))?.[1])
  return {
    url,
    child,
    cpuTime() {
      // The first number of `schedstat` is the CPU time of one thread in nanoseconds.
      const threads = readdirSync(`/proc/${child.pid}/task`)
      const times = threads.map((id) => Number(proc(`task/${id}/schedstat`).split(' ')[0]))
      return times.reduce((sum, time) => sum + time, 0) / 1e6
    },
    memory: () => ({ now: status('VmRSS'), peak: status('VmHWM') }),
    resetPeak: () => writeFileSync(`/proc/${child.pid}/clear_refs`, '5'),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}
