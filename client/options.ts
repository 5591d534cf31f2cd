import type { TillError } from './errors.ts'
import type { DeviceInfo, Session } from './types.ts'

export interface ClientOptions {
  /** The address of the server without `/api/v1`: `https://shop.example`. */
  readonly url: string
  /** The project's public key, to open sessions. */
  readonly publicKey?: string | undefined
  /** The user of the sessions. Without it, tokens belong to the project. */
  readonly userId?: string | undefined
  readonly deviceInfo?: DeviceInfo | undefined
  /** The deep-link scheme of the application. */
  readonly dlscheme?: string | undefined
  /** The account key, to create records. It belongs on servers. */
  readonly accountKey?: string | undefined
  /** Whether to accept an account key in a browser, where every user of the page can read it. */
  readonly allowAccountKeyInBrowser?: boolean | undefined
  /**
   * Gets a token that the account issued, from your own server. Called instead of opening a session:
   * before the first request, before the token expires, and after a 401.
   */
  readonly getToken?: (() => Promise<Pick<Session, 'token' | 'expires_in_seconds'>>) | undefined
  /** Milliseconds for one attempt of a request; default 30,000. Imports have one hour. */
  readonly timeout?: number | undefined
  /** The maximum number of attempts per request, 1 to 10; default 3. */
  readonly attempts?: number | undefined
  /** Called before a request is sent again, with the milliseconds until then. */
  readonly onWait?: ((milliseconds: number, error: TillError) => void) | undefined
  /**
   * Characters of answers to keep for `If-None-Match`, at most half for one answer; default
   * 4,000,000; 0 keeps none.
   */
  readonly cacheSize?: number | undefined
}

/** The options of a management client. */
export interface ManageOptions
  extends Pick<ClientOptions, 'url' | 'accountKey' | 'timeout' | 'attempts' | 'onWait'> {
  readonly accountKey: string
}

export interface CallOptions {
  /** Ends the call, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined
  /** Milliseconds for one attempt. */
  readonly timeout?: number | undefined
}

export interface CreateOptions extends CallOptions {
  /** 1 to 255 characters. By default, each call has its own key. */
  readonly idempotencyKey?: string | undefined
}

export interface ChangeOptions extends CallOptions {
  /** The `etag` of the record that was read. Rejects with `etag_mismatch` if it has changed. */
  readonly ifMatch?: string | undefined
}

/** A check of an option, and the words for its error. */
type Rule = readonly [isValid: (value: unknown) => boolean, words: string]

const timeoutRule = integer(1, 2 ** 31 - 1)

const clientRules: { readonly [O in keyof Required<ClientOptions>]: Rule } = {
  url: [isAddress, 'an address without /api/v1 and without query: https://shop.example'],
  publicKey: [matches(/^pk_[\w-]+$/), 'a public key: pk_…'],
  userId: [matches(/^.+$/s), 'a text that is not empty'],
  deviceInfo: [(value) => typeof value === 'object' && value !== null, 'an object'],
  dlscheme: [(value) => typeof value === 'string', 'a text'],
  accountKey: [matches(/^ak_[\w-]+$/), 'an account key: ak_…'],
  allowAccountKeyInBrowser: [(value) => typeof value === 'boolean', 'true or false'],
  getToken: [(value) => typeof value === 'function', 'a function'],
  timeout: timeoutRule,
  attempts: integer(1, 10),
  onWait: [(value) => typeof value === 'function', 'a function'],
  cacheSize: integer(0, Number.MAX_SAFE_INTEGER),
}

export const callRules: { readonly [O in keyof Required<CallOptions>]: Rule } = {
  signal: [(value) => value instanceof AbortSignal, 'an AbortSignal'],
  timeout: timeoutRule,
}

export const createRules: { readonly [O in keyof Required<CreateOptions>]: Rule } = {
  ...callRules,
  idempotencyKey: [matches(/^[ -~]{1,255}$/), '1 to 255 ASCII characters'],
}

export const changeRules: { readonly [O in keyof Required<ChangeOptions>]: Rule } = {
  ...callRules,
  ifMatch: [matches(/^[!-~ ]+$/), 'an ETag'],
}

/** Options with their defaults. */
export type Settings = ReturnType<typeof parseClientOptions>

/** Checks the options of a client. Throws a TypeError that names the wrong one. */
export function parseClientOptions(input: ClientOptions) {
  assertOptions(input, clientRules)
  const { url, publicKey, accountKey, getToken } = input
  if (url === undefined) throw new TypeError('The option url is missing')
  if (!publicKey && !accountKey && !getToken) {
    throw new TypeError('One of the options publicKey, accountKey and getToken is required')
  }
  if (accountKey && isBrowser() && !input.allowAccountKeyInBrowser) {
    const advice = 'Create records on your server, or set allowAccountKeyInBrowser'
    throw new TypeError(`An account key in a browser is visible to its users. ${advice}`)
  }
  const { cacheSize = 4_000_000 } = input
  return { ...input, ...transmissionOf(input), cacheSize }
}

/** Checks the options of a management client. Throws a TypeError that names the wrong one. */
export function parseManageOptions(input: ManageOptions) {
  const { url, accountKey, timeout, attempts, onWait } = clientRules
  assertOptions(input, { url, accountKey, timeout, attempts, onWait })
  const missing = (['url', 'accountKey'] as const).find((name) => input[name] === undefined)
  if (missing) throw new TypeError(`The option ${missing} is missing`)
  return { ...input, ...transmissionOf(input) }
}

/** How to send requests. */
export type Transmission = ReturnType<typeof transmissionOf>

function transmissionOf({ url, timeout = 30_000, attempts = 3, onWait }: ClientOptions) {
  return { url: url.replace(/\/+$/, ''), timeout, attempts, onWait }
}

/** Throws a TypeError for a wrong or unknown option. Quotes no value: it may be a key. */
export function assertOptions(options: object, rules: { readonly [name: string]: Rule }): void {
  if (typeof options !== 'object' || options === null) {
    throw new TypeError('The options must be an object')
  }
  for (const [name, value] of Object.entries(options)) {
    const rule = Object.hasOwn(rules, name) && rules[name]
    if (!rule) throw new TypeError(`There is no option ${name}`)
    const [isValid, words] = rule
    if (value !== undefined && !isValid(value)) {
      throw new TypeError(`The option ${name} must be ${words}`)
    }
  }
}

function matches(pattern: RegExp): Rule[0] {
  return (value) => typeof value === 'string' && pattern.test(value)
}

function integer(min: number, max: number): Rule {
  const isValid = (value: unknown) => Number.isSafeInteger(value) && inRange(value as number)
  const inRange = (value: number) => value >= min && value <= max
  return [isValid, `a whole number from ${min} to ${max}`]
}

function isAddress(value: unknown): boolean {
  if (typeof value !== 'string' || !/^https?:\/\/[^\s?#@]+$/.test(value)) return false
  try {
    return !/\/api\/v1$/.test(new URL(value).pathname.replace(/\/+$/, ''))
  } catch {
    return false
  }
}

/** A page or a web worker. Servers on Node, Deno, Bun and Cloudflare have neither global. */
function isBrowser(): boolean {
  return 'document' in globalThis || 'importScripts' in globalThis
}
