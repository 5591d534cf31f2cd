import type { Invocation, OptionSpecs } from '../command.ts'
import { oneOf, wholeNumber } from '../option-values.ts'

const LOGS = ['debug', 'all', 'errors', 'off'] as const
const LOG_FORMATS = ['text', 'json'] as const

/** The options of `serve`. */
export const serveOptions = {
  host: {
    value: 'ADDRESS',
    variable: 'HOST',
    help: 'the address to listen on (default 127.0.0.1)',
  },
  port: {
    value: 'N',
    variable: 'PORT',
    parse: wholeNumber(0, 65_535),
    help: 'the port, 0 for any free one (default 3000)',
  },
  workers: {
    value: 'N',
    parse: wholeNumber(1, 64),
    help: 'processes that share the port and the database, 1 to 64 (default 1)',
  },
  lockdown: { help: 'tokens obtained with a public key can only read items' },
  demo: { help: 'create a demo account with sales in an empty database and print its keys' },
  'cors-origin': {
    value: 'ORIGIN',
    variable: 'TILLKIT_CORS_ORIGIN',
    multiple: true,
    help: 'an origin whose scripts may call the API, "*" for any; may be repeated',
  },
  'rate-limit': {
    value: 'N',
    parse: wholeNumber(1),
    help: 'requests per minute of one credential (default: no limit)',
  },
  'rate-limit-address': {
    value: 'N',
    parse: wholeNumber(1),
    help: 'requests per minute from one address (default: no limit)',
  },
  'account-share': {
    value: 'PERCENT',
    parse: wholeNumber(1, 100),
    help: 'the largest share of concurrent requests for one account (default 50)',
  },
  'trust-proxy': {
    value: '[N]',
    bare: '1',
    parse: wholeNumber(1, 20),
    help: 'number of proxies, to take client addresses from X-Forwarded-For (bare: 1)',
  },
  'keep-alive': {
    value: 'SECONDS',
    parse: wholeNumber(1, 3_600),
    help: 'how long idle connections stay open; longer than at the proxy (default 75)',
  },
  'drain-delay': {
    value: 'SECONDS',
    parse: wholeNumber(0, 999),
    help: 'time to keep serving after the signal, with /readyz at 503 (default 0)',
  },
  docs: { help: 'serve a reference page of the API at /docs' },
  manage: { help: 'serve the management API at /manage/v1, for your own servers' },
  console: { help: 'serve the browser console at /console, and the API of --manage' },
  'no-webhooks': { help: 'send no webhooks; another server on the database may' },
  'webhook-allow-private': { help: 'send webhooks also over http and to private addresses' },
  metrics: { help: 'serve /metrics of all workers for Prometheus; no proxy may forward it' },
  log: {
    value: 'WHICH',
    parse: oneOf(...LOGS),
    choices: LOGS,
    help: 'requests to log on stderr: all, errors, off, or debug for health checks too (default all)',
  },
  'log-format': {
    value: 'FORMAT',
    parse: oneOf(...LOG_FORMATS),
    choices: LOG_FORMATS,
    help: 'text or json, also of the lines on stdout (default: text on a terminal, else json)',
  },
} as const satisfies OptionSpecs

export type ServeInvocation = Invocation<typeof serveOptions>
