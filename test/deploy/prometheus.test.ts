import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { parse } from 'yaml'
import { serveProcess } from '../support/cli.ts'
import { eventuallyHolds } from '../support/eventually.ts'
import { temporaryFolder } from '../support/folder.ts'
import { freePort } from '../support/port.ts'
import { startPostgres } from '../support/postgres.ts'
import { soakOnly } from '../support/soak.ts'

const read = (name: string) => readFileSync(`deploy/${name}`, 'utf8')
const hasPromtool = spawnSync('promtool', ['--version']).status === 0
const withoutPromtool = !hasPromtool && 'promtool is not installed'
const withoutPrometheus =
  spawnSync('prometheus', ['--version']).status !== 0 && 'prometheus is not installed'

/** The arguments with which the unit and the compose file start `serve`, on a free port. */
function shippedCommands(): string[][] {
  const unit = /^ExecStart=\S+ \S+ serve (.*)$/m.exec(read('tillkit.service'))?.[1] ?? ''
  const [, ...compose] = parse(read('compose.yaml'), { merge: true })['x-till'].command
  return [unit.replace('--port 3000', '--port 0').split(' '), [...compose, '--port', '0']]
}

// Without --metrics, TillkitDown would page for servers that are healthy.
test('the alerts do not page for healthy servers of the unit and of the compose file', {
  skip: soakOnly || withoutPrometheus,
}, async (t) => {
  const folder = temporaryFolder(t)
  const servers = shippedCommands().map(async (args, n) => {
    const { url } = await serveProcess(t, [...args, '--db', join(folder, `${n}.db`)])
    const { headers } = await fetch(`${url}/openapi.json`)
    assert.match(headers.get('ratelimit-policy') ?? '', /"address";q=/)
    return new URL(url).host
  })
  const [a, b] = await Promise.all(servers)
  // The first lines of the file show the settings of Prometheus.
  const [rules = '', scrapes = ''] = [...read('alerts.yml').matchAll(/^# {3}(.*)$/gm)].map(
    ([, line = '']) => line,
  )
  const targets = scrapes.replace('till-1:3000', a ?? '').replace('till-2:3000', b ?? '')
  const often = 'global: { scrape_interval: 1s, evaluation_interval: 1s }'
  writeFileSync(join(folder, 'prometheus.yml'), [often, rules, targets].join('\n'))
  writeFileSync(join(folder, 'alerts.yml'), read('alerts.yml'))
  const address = `127.0.0.1:${await freePort()}`
  const files = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`]
  const args = [...files, `--web.listen-address=${address}`]
  const child = spawn('prometheus', args, { stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.after(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const ask = async (path: string) => {
    const answer = await fetch(`http://${address}/api/v1/${path}`)
    return ((await answer.json()) as { data: { result: unknown[]; alerts: Alerting[] } }).data
  }

  await eventuallyHolds(async () => {
    const { result } = await ask('query?query=count_over_time(up{job="tillkit"}[1m]) > 3')
    assert.equal(result.length, 2)
  })
  const { alerts } = await ask('alerts')

  const pages = alerts.filter(({ labels }) => labels.severity === 'page')
  assert.deepEqual(pages, [])
})

interface Alerting {
  readonly labels: { readonly severity: string }
}

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
