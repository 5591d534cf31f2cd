import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { Finding, Report } from '../../cli/conformance/suite.ts'
import { createFetchHandler } from '../../http/index.ts'
import { createMemoryStorage } from '../../lib/index.ts'
import { type Change, startChangedServer } from './changed-server.ts'
import { tillkit } from './cli.ts'
import { serveShop } from './server.ts'

/** The title of the first check of every endpoint. */
export const ANSWER = 'answers a valid request with 200 and exactly the specified fields'

/** A server that conforms, and the keys for it. */
export async function start(t: TestContext) {
  const shop = await serveShop(t, { storage: createMemoryStorage() })
  const env = { TILLKIT_PUBLIC_KEY: shop.public_key, TILLKIT_ACCOUNT_KEY: shop.account_key }
  return { ...shop, handle: createFetchHandler(shop.till), env }
}

/** Checks a server with a defect. */
export async function check(t: TestContext, change: Change, args: readonly string[] = []) {
  const { handle, env } = await start(t)
  const changed = await startChangedServer(t, handle, change)
  const line = ['conformance', '--url', changed, '--json', ...args]
  const { code, stdout } = await tillkit(line, { env })
  for (const secret of [...Object.values(env), 'eyJ']) assert.ok(!stdout.includes(secret))
  const report = JSON.parse(stdout) as Report
  const titles = (outcome: Finding['outcome']) =>
    report.checks.filter((each) => each.outcome === outcome).map(nameOf)
  return { code, report, titles }
}

/** The name of a check in assertions. */
export const nameOf = ({ endpoint, title }: Pick<Finding, 'endpoint' | 'title'>) =>
  `${endpoint}: ${title}`

/** Changes the answers with status 200, of one endpoint or of all. */
export const onSuccess = (change: NonNullable<Change['reply']>, number?: number): Change => ({
  reply(reply, request) {
    const isMeant = number === undefined || number === request.number
    if (isMeant && reply.status === 200) change(reply, request)
  },
})
