import type { IncomingMessage } from 'node:http'
import { isBasePath } from './head.ts'
import type { AccountHook } from './host-account.ts'
import { type Limits, limits } from './limits.ts'
import type { LogOptions } from './log.ts'
import type { PoolMetrics } from './metrics.ts'
import type { WebhookSender } from './webhooks/sender.ts'

/** Optional features. All default to off. */
export interface HandlerOptions<Request = IncomingMessage> extends LogOptions {
  /**
   * The path below which all routes are, such as `/shop`. Omit it if the framework removes this
   * prefix from the request's path, as Express does for `app.use`.
   */
  readonly basePath?: string | undefined
  /**
   * Returns the id of the account that the embedding application has authenticated by its own
   * means, such as a session cookie; undefined for none. Called when a request needs an account key
   * but has none, except in the management API. Browser requests from other origins get 401
   * instead, and bodies must have the Content-Type `application/json`.
   */
  readonly authenticateAccount?: AccountHook<Request> | undefined
  /** Limits that differ from the defaults: see docs/operations.md. */
  readonly limits?: { readonly [L in keyof Limits]?: number | undefined }
  /** The origins whose scripts may call the routes for public keys and tokens; `*` for all. */
  readonly corsOrigins?: readonly string[] | undefined
  /** The maximum number of requests a minute for each credential. */
  readonly rateLimit?: number | undefined
  /** The maximum number of requests a minute for each client address. */
  readonly rateLimitAddress?: number | undefined
  /**
   * The number of trusted proxies in front of the server; true means one. Each must add an entry to
   * X-Forwarded-For. If set, the client's address is taken from that header.
   */
  readonly trustProxy?: boolean | number | undefined
  /** Serves a reference page of the API at `/docs`. */
  readonly docs?: boolean | undefined
  /** Serves the management API below `/manage/v1`, for servers with an account key. */
  readonly manage?: boolean | undefined
  /** Serves the browser console at `/console`, and the management API that it calls. */
  readonly console?: boolean | undefined
  /** Collects metrics and serves `/metrics`. */
  readonly metrics?: boolean | undefined
  /** Combines the metrics of several worker processes. */
  readonly poolMetrics?: PoolMetrics | undefined
  /** The webhook sender of this process. `/metrics` reports its requests. */
  readonly webhooks?: WebhookSender | undefined
}

/** A check of an option, and the words with which its error describes a valid value. */
type Rule = readonly [isValid: (value: unknown) => boolean, words: string]

const flag: Rule = [(value) => typeof value === 'boolean', 'true or false']
const object: Rule = [isObject, 'an object']
const quota: Rule = [(value) => isCount(value) && value > 0, 'a whole number from 1']
const limit: Rule = [(value) => typeof value === 'number' && value >= 0, 'a number from 0']

const rules: { readonly [O in keyof Required<HandlerOptions>]: Rule } = {
  basePath: [isBasePath, 'a path like /shop, without a slash at its end'],
  authenticateAccount: [isFunction, 'a function'],
  limits: object,
  corsOrigins: [Array.isArray, 'an array of origins'],
  rateLimit: quota,
  rateLimitAddress: quota,
  trustProxy: [(value) => typeof value === 'boolean' || isCount(value), 'a number of proxies'],
  docs: flag,
  manage: flag,
  console: flag,
  metrics: flag,
  poolMetrics: [isFunction, 'a function'],
  webhooks: object,
  log: [isFunction, 'a function'],
  logOnlyErrors: flag,
}

const limitRules = Object.fromEntries(Object.keys(limits).map((name) => [name, limit]))

/** Throws a TypeError for an unknown or wrong option: a misspelt limit would have no effect. */
export function assertOptions<Request>(options: HandlerOptions<Request>): void {
  if (!isObject(options)) throw new TypeError('the options must be an object')
  assertAll('option', options, rules)
  assertAll('limit', options.limits ?? {}, limitRules)
}

function assertAll(kind: string, given: object, rules: { readonly [name: string]: Rule }): void {
  for (const [name, value] of Object.entries(given)) {
    const rule = Object.hasOwn(rules, name) && rules[name]
    if (!rule) throw new TypeError(`there is no ${kind} ${name}`)
    const [isValid, words] = rule
    if (value !== undefined && !isValid(value)) {
      throw new TypeError(`the ${kind} ${name} must be ${words}`)
    }
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function'
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0
}
