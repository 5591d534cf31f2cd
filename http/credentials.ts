import {
  type Account,
  type KeyedAccount,
  type KeyScope,
  type Project,
  type Scope,
  type Session,
  type Till,
  TillError,
} from '../lib/index.ts'
import { operations } from '../lib/operations.ts'
import type { RequestHeaders } from './head.ts'

type OperationName = (typeof operations)[number]['name']

/** The kind of credential that a route requires. */
export interface Credential<Caller> {
  /** Verifies the credential before the body is read. Returns the caller. */
  readonly verify: (
    till: Till,
    headers: RequestHeaders,
    hostAccount?: () => Promise<Account>,
  ) => Promise<Caller>
  /**
   * Verifies the credential again after a request has failed. Missing if `verify` never uses an
   * outdated cache.
   */
  readonly confirm?: (till: Till, headers: RequestHeaders) => Promise<unknown>
  /** The security scheme in the OpenAPI document; missing if the route needs no credential. */
  readonly scheme?: 'publicKey' | 'accountKey' | 'token'
  /** The scope that a token or an account key needs. */
  readonly scope?: Scope | KeyScope | undefined
  /** The key of the caller's rate-limit bucket. Routes without it have no limits. */
  bucketOf?(caller: Caller, address: string): string
  /**
   * The project whose share of the import limit the request uses. Missing for a credential that
   * covers several projects.
   */
  projectOf?(caller: Caller): string
  /** The project whose limit of changes a caller uses, if anyone may get its credential. */
  changedProjectOf?(caller: Caller): string | undefined
  /** Whether the operator's own programs call the route. No rate limit applies to it. */
  readonly isProbe?: true
  /** Whether a browser may hold this credential. CORS is enabled only for such routes. */
  readonly isForBrowsers: boolean
}

/** No credential, for public documents such as `/openapi.json`. */
export const anyone: Credential<undefined> = { verify: async () => undefined, isForBrowsers: false }

/** No credential, for the operator's probes such as `/healthz`. */
export const probe: Credential<undefined> = { ...anyone, isProbe: true }

/**
 * A project's public key. All its clients share the key, so each address has its own bucket. In one
 * common bucket, a single client could lock out all others.
 */
export const publicKey: Credential<Project> = {
  scheme: 'publicKey',
  verify: (till, headers) =>
    till.projects.authenticate(headers['x-public-project-key'] ?? undefined),
  bucketOf: ({ public_key }, address) => `${public_key} ${address}`,
  projectOf: ({ id }) => id,
  isForBrowsers: true,
}

/**
 * An account key, or an account that the embedding application has authenticated. All keys of an
 * account share one bucket. `verify` may use an outdated cache: all routes of this credential are
 * writes, and their transaction verifies the key again.
 */
export function accountKey(scope: KeyScope): Credential<Account> {
  return {
    ...keyOnly(scope),
    verify: (till, headers, hostAccount) =>
      headers['x-account-key'] === undefined && hostAccount
        ? hostAccount()
        : till.accounts.authenticate(keyOf(headers), { isForWrite: true, scope }),
    confirm: async (till, { 'x-account-key': account_key }) =>
      account_key === undefined || till.accounts.authenticate(account_key ?? undefined, { scope }),
  }
}

/**
 * An account key. Unlike `accountKey`, refuses an account that the embedding application has
 * authenticated: the application may use cookies, which browsers also send for other sites. Without
 * a scope, any key may call the route.
 */
export function keyOnly(scope: KeyScope | undefined): Credential<KeyedAccount> {
  return {
    scheme: 'accountKey',
    scope,
    verify: (till, headers) => till.accounts.authenticate(keyOf(headers), { scope }),
    bucketOf: ({ account_id }) => account_id,
    isForBrowsers: false,
  }
}

/** An account key, or a token, with or without the word that begins the header `Authorization`. */
const KEY = /^(Bearer +)?ak_/i
const TOKEN = /^(Bearer +)?eyJ/i

/**
 * The account key of a request. Throws 401 that names the right header if this header has a token, or
 * if only another header has the key.
 */
function keyOf({ 'x-account-key': account_key, authorization }: RequestHeaders) {
  if (account_key && TOKEN.test(account_key)) {
    throw new TillError(
      'account_key_required',
      'The header x-account-key has a token. Tokens belong in Authorization: Bearer',
    )
  }
  if (account_key === undefined && authorization && KEY.test(authorization)) {
    throw new TillError('account_key_required', 'The account key belongs in x-account-key')
  }
  return account_key ?? undefined
}

/**
 * A bearer token. All tokens that the account issued to one user share a bucket. Other tokens are
 * counted by address: their client chose the user id itself, and could lock out the real user.
 * `forKeys` is the operation that does the same for an account key.
 */
export function bearer(scope: Scope, forKeys: OperationName): Credential<Session> {
  const { http = '' } = operations.find(({ name }) => name === forKeys) ?? {}
  const way = http.replace(' ', ' /manage/v1').replaceAll(/:(\w+)/g, '{$1}')
  return {
    scheme: 'token',
    scope,
    verify: (till, headers) => till.sessions.authenticate(tokenOf(headers, way), scope),
    bucketOf: ({ project_id, user_id, issued_by }, address) =>
      issued_by === 'account' ? `${project_id}/${user_id}` : `${project_id} ${address}`,
    projectOf: ({ project_id }) => project_id,
    changedProjectOf: ({ project_id, issued_by }) =>
      scope === 'projects:write' && issued_by !== 'account' ? project_id : undefined,
    isForBrowsers: true,
  }
}

// `Bearer` is case-insensitive (RFC 9110 section 11.1). The library verifies the token.
function tokenOf({ authorization, 'x-account-key': key }: RequestHeaders, way: string) {
  // Handles most tokens without a regular expression, which takes ten times as long as `slice`.
  if (authorization?.startsWith('Bearer e')) return authorization.slice(7)
  if (authorization ? KEY.test(authorization) : authorization === undefined && key) {
    const message = `This route takes a token. With an account key in x-account-key: ${way}`
    throw new TillError('token_required', message)
  }
  if (!authorization) return undefined
  return /^Bearer +(.+)$/i.exec(authorization)?.[1]
}
