import { BoundedMap } from '../lib/bounded-map.ts'
import { bodyOf, TillError } from './errors.ts'
import { type Answer, JSON_TYPE } from './message.ts'
import {
  assertOptions,
  type CallOptions,
  type CreateOptions,
  callRules,
  createRules,
  type Settings,
} from './options.ts'
import { randomHex } from './random.ts'
import { createSender, type Request } from './retry.ts'
import { createSession, type Grant } from './session.ts'
import type { AccessToken, Session } from './types.ts'

/** A cached answer with its ETag. */
interface CachedAnswer {
  readonly path: string
  readonly etag: string
  readonly text: string
  readonly link: string | null
}

/** Characters. Each answer counts 200 more, so that the number of answers is bounded too. */
function sizeOf({ path, text }: CachedAnswer): number {
  return path.length + text.length + 200
}

/** Creates the ways to call an endpoint, by its credential. */
export function createCalls(settings: Settings) {
  const { publicKey, accountKey, userId, deviceInfo, dlscheme, getToken } = settings
  const sendRequest = createSender(settings)
  const cache = new BoundedMap<CachedAnswer>(settings.cacheSize, sizeOf)

  /** Requests a token with the public key. */
  const open = async <T>(
    kind: 'init' | 'token' | 'access-token',
    options: CallOptions = {},
  ): Promise<T> => {
    assertOptions(options, callRules)
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

  /** Sends with a token. */
  const send = async (request: Request, options: CallOptions = {}): Promise<Answer> => {
    assertOptions(options, callRules)
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
    /** Uses a token of `open` from now on, unless the account issues the tokens. */
    adopt(grant: Grant, requested: number) {
      if (!getToken) session.adopt(grant, requested)
    },

    /** Creates a record with the account key. */
    async create(path: string, record: object, options: CreateOptions = {}) {
      assertOptions(options, createRules)
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

    /** Reads with a token. An answer that has not changed comes from the cache. */
    async read<T>(path: string, options?: CallOptions): Promise<{ body: T; link: string | null }> {
      const known = cache.get(path)
      const headers = known ? { 'if-none-match': known.etag } : {}
      const answer = await send({ method: 'GET', path, headers, repeat: 'always' }, options)
      if (known && answer.status === 304) return { body: JSON.parse(known.text), link: known.link }
      const body = bodyOf<T>(answer)
      const link = answer.header('link')
      const etag = answer.header('etag')
      if (etag !== null) cache.set(path, { path, etag, link, text: answer.text })
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
