import { noBody } from '../body.ts'
import type { AnyRoute } from '../route.ts'
import type { ProblemCode } from './examples.ts'

/** The errors of every request, whatever its route. */
const ANY: readonly ProblemCode[] = ['malformed_request', 'request_timeout', 'headers_too_large']

const OF_CREDENTIAL = {
  publicKey: ['invalid_public_key', 'project_inactive'],
  accountKey: ['account_key_required'],
  token: ['token_required', 'insufficient_scope'],
} as const satisfies { readonly [scheme: string]: readonly ProblemCode[] }

const OF_LIMITS: readonly ProblemCode[] = ['internal_error', 'overloaded', 'storage_unavailable']

const OF_BODY: readonly ProblemCode[] = [
  'invalid_request',
  'body_too_large',
  'unsupported_media_type',
]

/** All error codes that a route may answer with. */
export function errorsOf({ credential, readBody, description }: AnyRoute): ProblemCode[] {
  const { scheme, isProbe } = credential
  return [
    ...ANY,
    ...(scheme ? OF_CREDENTIAL[scheme] : []),
    ...(isProbe ? [] : (['rate_limited'] as const)),
    ...(scheme ? OF_LIMITS : []),
    ...(readBody === noBody ? [] : OF_BODY),
    ...(description.errors ?? []),
  ]
}
