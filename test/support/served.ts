import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent } from 'node:http'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { serveHere, serveProcess, tillkit, tillkitJson } from './cli.ts'
import { temporaryFolder } from './folder.ts'
import { ask, type ShownItem } from './load.ts'
import { openSqlite } from './sqlite.ts'
import { createShop } from './till.ts'

/** A database file with a shop, and functions that run commands and servers on it. */
export async function createShopFile(
  t: TestContext,
  { folder = temporaryFolder(t), sendsWebhooks = false } = {},
) {
  const db = join(folder, 'till.db')
  const { till, ...shop } = await createShop({ storage: await openSqlite(db) })
  await till.close()
  const { account_id, project_id, token } = shop
  const argsOf = (more: readonly string[]) => {
    // The thread that sends takes a third of the CPU time of a start.
    const silent = sendsWebhooks ? [] : ['--no-webhooks']
    return ['--db', db, '--port', '0', '--log', 'errors', ...silent, ...more]
  }
  return {
    ...shop,
    folder,
    db,
    ofStore: ['--account', account_id, '--store', 'main'],
    ofProject: ['--project', project_id],
    run: (...args: string[]) => tillkit([...args, '--db', db]),
    json: (...args: string[]) => tillkitJson([...args, '--db', db]),
    async serve(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
      const server = await serveProcess(t, argsOf(args), env)
      // The workers share this output. When it closes, all of them have ended.
      const ended = once(server.child, 'close').then(([code, signal]) => ({ code, signal }))
      const api = `${server.url}/api/v1`
      return { ...server, api, ended, items: () => listItems(api, token) }
    },
    /** Serves in this process, which takes a tenth of the CPU time. */
    async serveHere(args: readonly string[] = [], env: NodeJS.ProcessEnv = {}) {
      const server = await serveHere(t, argsOf(args), env)
      const api = `${server.url}/api/v1`
      return { ...server, api, items: () => listItems(api, token) }
    },
  }
}

export type ShopFile = Awaited<ReturnType<typeof createShopFile>>
export type ServedProcess = Awaited<ReturnType<ShopFile['serve']>>
/** A server in a process of its own, or in this one. */
export type ServedItems = Pick<ServedProcess, 'api' | 'items'>

/** All items of the store `main` except the shop's own one. */
async function listItems(api: string, token: string): Promise<ShownItem[]> {
  const agent = new Agent()
  const url = `${api}/items?store_id=main`
  const { status, text } = await ask(agent, url, { authorization: `Bearer ${token}` })
  assert.equal(status, 200, text)
  const { items } = JSON.parse(text) as { items: ShownItem[] }
  return items.filter(({ name }) => name !== 'gold')
}

/** The child processes of a process. */
export function childrenOf(pid = 0): number[] {
  const listed = execFileSync('ps', ['-o', 'pid=,ppid=', '-A'], { encoding: 'utf8' })
  const pairs = listed
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  return pairs.flatMap(([child = 0, parent]) => (parent === pid ? [child] : []))
}
