import { createCache } from './cache.ts'
import { bodyOf, TillError } from './errors.ts'
import type { Reply } from './message.ts'
import {
  assertCallOptions,
  assertCreateOptions,
  type CallOptions,
  type CreateOptions,
  type Settings,
} from './options.ts'
import { randomHex } from './random.ts'
import { createSender, type Request } from './retry.ts'
import { createSession, type Grant } from './session.ts'
import type { AccessToken, Session } from './types.ts'

/** The ways to call an endpoint, by its credential. */
export interface Calls {
  /** Requests a token with the public key. */
  open<T>(kind: 'init' | 'token' | 'access-token', options?: CallOptions): Promise<T>
  /** Uses a token of `open` from now on, unless the account issues the tokens. */
  adopt(grant: Grant, requested: number): void
  /** Creates a record with the account key. */
  create(path: string, record: object, options?: CreateOptions): Promise<Reply>
  /** Sends with a token. */
  send(request: Request, options?: CallOptions): Promise<Reply>
  /** Reads with a token. An answer that has not changed comes from the cache. */
  read<T>(path: string, options?: CallOptions): Promise<{ body: T; link: string | null }>
}

export const JSON_TYPE = { 'content-type': 'application/json' }

export function createCalls(settings: Settings): Calls {
  const { publicKey, accountKey, userId, deviceInfo, dlscheme, getToken } = settings
  const sendRequest = createSender(settings)
  const cache = createCache(settings.cacheSize)

  const open = async <T>(
    kind: 'init' | 'token' | 'access-token',
    options: CallOptions = {},
  ): Promise<T> => {
    assertCallOptions(options)
    const headers = { 'x-public-project-key': needed('publicKey', publicKey) }
    const request = { path: `/identity/auth/${kind}`, repeat: 'always' } as const
    if (kind === 'access-token') {
      return bodyOf(await sendRequest({ ...request, method: 'GET', headers }, options))
    }
    const user_id = needed('userId', userId)
    const body = JSON.stringify({ user_id, device_info: deviceInfo, dlscheme })
    const post = { ...request, method: 'POST', headers: { ...headers, ...JSON_TYPE }, body }
    return bodyOf(await sendRequest(post, options))
  }

  const session = createSession(async () => {
    if (getToken) return parseGrant(await getToken())
    if (userId !== undefined) return open<Session>('token')
    const { access_token, ttl_seconds } = await open<AccessToken>('access-token')
    return { token: access_token, expires_in_seconds: ttl_seconds }
  })

  const sendWith = (token: string, request: Request, options: CallOptions) => {
    const headers = { ...request.headers, authorization: `Bearer ${token}` }
    return sendRequest({ ...request, headers }, options)
  }

  const send = async (request: Request, options: CallOptions = {}): Promise<Reply> => {
    assertCallOptions(options)
    options.signal?.throwIfAborted()
    const token = await session.get(options)
    try {
      return await sendWith(token, request, options)
    } catch (error) {
      if (!(error instanceof TillError) || error.code !== 'token_required') throw error
      session.drop(token)
      if (request.repeat === 'never') throw error
      return sendWith(await session.get(options), request, options)
    }
  }

  return {
    open,
    adopt(grant, requested) {
      if (!getToken) session.adopt(grant, requested)
    },

    async create(path, record, options = {}) {
      assertCreateOptions(options)
      const { idempotencyKey = randomHex(), ...rest } = options
      const headers = {
        ...JSON_TYPE,
        'x-account-key': needed('accountKey', accountKey),
        'idempotency-key': idempotencyKey,
      }
      const body = JSON.stringify(record)
      return sendRequest({ method: 'POST', path, headers, body, repeat: 'always' }, rest)
    },

    send,

    async read<T>(path: string, options?: CallOptions) {
      const known = cache.get(path)
      const headers = known ? { 'if-none-match': known.etag } : {}
      const reply = await send({ method: 'GET', path, headers, repeat: 'always' }, options)
      if (known && reply.status === 304) return { body: JSON.parse(known.text), link: known.link }
      const body = bodyOf<T>(reply)
      const link = reply.header('link')
      const etag = reply.header('etag')
      if (etag !== null) cache.set(path, { etag, link, text: reply.text })
      return { body, link }
    },
  }
}

function parseGrant(grant: Grant): Grant {
  if (typeof grant?.token === 'string' && grant.expires_in_seconds > 0) return grant
  throw new TypeError('getToken must return an object with token and expires_in_seconds')
}

function needed(name: string, value: string | undefined): string {
  if (value !== undefined) return value
  throw new TypeError(`This call needs the option ${name} of createClient`)
}
