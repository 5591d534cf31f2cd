import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { serveProcess } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { startPostgres } from '../support/postgres.ts'

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8')
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const withoutPromtool = !hasPromtool && 'promtool is not installed'

test('promtool accepts the alerts, and they fire as expected', { skip: withoutPromtool }, () => {
  for (const args of [
    ['check', 'rules', 'deploy/alerts.yml'],
    ['test', 'rules', 'deploy/alerts.test.yml'],
  ]) {
    const { status, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' })
    assert.equal(status, 0, stdout + stderr)
  }
})

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
  readonly templating: { readonly list: readonly { readonly query: unknown }[] }
}

const postgres = await startPostgres()

/** The `/metrics` of servers with workers on a file, and on PostgreSQL. */
async function scrapeAll(t: TestContext): Promise<string[]> {
  const path = join(temporaryFolder(t), 'till.db')
  const file = ['--db', path, '--port', '0', '--workers', '2', '--metrics', '--rate-limit', '600']
  const database = await postgres.createDatabase(t)
  const alone = ['--db', database, '--port', '0', '--metrics']
  const scrapes = [file, alone].map(async (args) => {
    const { url, child, closed } = await serveProcess(t, args)
    await fetch(`${url}/nowhere`)
    let text = ''
    await eventuallyHolds(async () => {
      text = await (await fetch(`${url}/metrics`)).text()
      assert.match(text, /^tillkit_http_requests_total/m) // only the worker with the request has it
    })
    child.kill('SIGTERM')
    await closed
    return text
  })
  return Promise.all(scrapes)
}

test('the server has every metric that the alerts and the dashboard use', async (t) => {
  const alerts: Alert[] = parse(read('alerts.yml')).groups.flatMap(
    ({ rules }: { rules: Alert[] }) => rules,
  )
  for (const { alert, annotations } of alerts) {
    assert.match(alert, /^Tillkit[A-Z]/)
    assert.ok(annotations.summary && annotations.runbook, alert)
  }
  const { panels, templating }: Dashboard = JSON.parse(read('grafana.json'))
  const expressions = [
    ...alerts.map(({ expr }) => expr),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    JSON.stringify(templating.list),
  ]
  const used = new Set(expressions.join(' ').match(/\b(tillkit|process)_\w+/g))
  assert.ok(used.size > 20, String(used.size))

  const scraped = await scrapeAll(t)

  for (const text of scraped) assertMetricNames(text)
  const served = new Set(
    [...scraped.join('').matchAll(/^([a-z_]+)[{ ]/gm)].map(([, name = '']) => name),
  )
  assert.deepEqual(
    [...used].filter((name) => !served.has(name)),
    [],
  )
})

/** Fails at a name or label that Prometheus reserves, such as a gauge with the label `quantile`. */
function assertMetricNames(scraped: string): void {
  if (!hasPromtool) return
  const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: scraped })
  assert.equal(status, 0, String(stderr))
}
