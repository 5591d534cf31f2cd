import { Buffer, isUtf8 } from 'node:buffer'
import { createHmac, createSecretKey, type KeyObject, timingSafeEqual } from 'node:crypto'

/** A secret, and the name by which a token's header says that this one signed it. */
export interface SigningKey {
  readonly kid: string
  /** At least 32 bytes: RFC 7518 section 3.2 asks for no less than the size of the hash. */
  readonly secret: Uint8Array
}

/** What a token says (RFC 7519 section 4). Strings are non-empty, times whole Unix seconds. */
export interface Claims {
  readonly iss: string
  readonly sub: string
  readonly project_id: string
  readonly scope: string
  readonly jti: string
  readonly iat: number
  readonly exp: number
}

/** How far the clocks of signer and verifier may differ, in seconds. */
const LEEWAY = 5

/** Our own tokens have some 450 characters, their headers some 100. */
const MAX_LENGTH = 8192

/** Lower, since the header is read before the signature: nested in 8 KiB it would take 1.9 ms. */
const MAX_HEADER_LENGTH = 512

const MIN_SECRET_BYTES = 32

/**
 * The claims as a JWT (RFC 7519) signed with HS256.
 *
 * Throws a TypeError for a key or claims whose token `verifyToken` would not take.
 */
export function signToken(claims: Claims, key: SigningKey): string {
  if (!areClaims(claims)) {
    throw new TypeError('expected non-empty well-formed strings, iat and exp in whole Unix seconds')
  }

  const { header, secret } = prepare(key)
  const input = `${header}.${encode(JSON.stringify(pickClaims(claims)))}`
  const token = `${input}.${hmac(input, secret)}`
  if (token.length > MAX_LENGTH) {
    throw new TypeError(`expected claims that fit in ${MAX_LENGTH} characters`)
  }
  return token
}

/**
 * The claims of a token that one of the keys signed and that is valid at `expected.now` (Unix
 * seconds), else undefined: one outcome for every failure, so that none is an oracle.
 *
 * Throws a TypeError for a key that can not sign, never for a token.
 *
 * @example
 * const token = signToken(claims, keys[0])
 * verifyToken(token, keys, { iss: 'tillkit', now: Math.floor(Date.now() / 1000) })
 */
export function verifyToken(
  token: string,
  keys: readonly SigningKey[],
  expected: { readonly iss: string; readonly now: number },
): Claims | undefined {
  if (token.length > MAX_LENGTH) return undefined
  const [header = '', payload = '', signature = '', extra] = token.split('.', 4)
  if (signature === '' || extra !== undefined) return undefined
  if (header.length > MAX_HEADER_LENGTH) return undefined

  const key = findKey(header, keys)
  if (key === undefined) return undefined
  const input = token.slice(0, token.lastIndexOf('.'))
  if (!equalInConstantTime(signature, hmac(input, key.secret))) return undefined
  // A header that we wrote needs no reading.
  if (header !== key.header && !isHeader(decode(header))) return undefined

  const claims = decode(payload)
  return areClaims(claims) && areValid(claims, expected) ? pickClaims(claims) : undefined
}

/** What does not change from token to token. A header encoded anew makes signing a fifth slower. */
interface PreparedKey {
  readonly kid: string
  readonly header: string
  readonly secret: KeyObject
}

const preparedKeys = new WeakMap<SigningKey, PreparedKey>()

function prepare(key: SigningKey): PreparedKey {
  const known = preparedKeys.get(key)
  if (known !== undefined) return known

  const { kid, secret } = key
  const header = encode(JSON.stringify({ alg: 'HS256', typ: 'JWT', kid }))
  if (!isText(kid) || header.length > MAX_HEADER_LENGTH) {
    throw new TypeError('expected a non-empty well-formed kid, so short that its header fits')
  }
  if (secret.byteLength < MIN_SECRET_BYTES) {
    throw new TypeError(`expected a secret of at least ${MIN_SECRET_BYTES} bytes`)
  }
  const prepared = { kid, header, secret: createSecretKey(secret) }
  preparedKeys.set(key, prepared)
  return prepared
}

/** By the text of the header when the token is ours; by its `kid` when another tool made it. */
function findKey(header: string, keys: readonly SigningKey[]): PreparedKey | undefined {
  const ring = keys.map(prepare)
  const ours = ring.find((key) => key.header === header)
  if (ours !== undefined) return ours

  const kid = decode(header)?.kid
  return ring.find((key) => key.kid === kid)
}

function hmac(input: string, secret: KeyObject): string {
  return createHmac('sha256', secret).update(input).digest('base64url')
}

/** Compares the text, not the bytes it stands for: a signature has one spelling. */
function equalInConstantTime(given: string, expected: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(expected)
  return a.byteLength === b.byteLength && timingSafeEqual(a, b)
}

/** `alg` is compared with what we use, never followed (RFC 8725 section 3.1). */
function isHeader(members: Members | undefined): boolean {
  // We know no extension, so that any `crit` names one we must refuse (RFC 7515 section 4.1.11).
  return members?.alg === 'HS256' && members.typ === 'JWT' && !('crit' in members)
}

function areClaims(members: object | undefined): members is Claims {
  if (members === undefined) return false
  // They narrow a token's use and we do not process them (RFC 7519 sections 4.1.3 and 4.1.5).
  if ('aud' in members || 'nbf' in members) return false

  const { iss, sub, project_id, scope, jti, iat, exp } = members as Members
  return [iss, sub, project_id, scope, jti].every(isText) && [iat, exp].every(Number.isSafeInteger)
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && value.isWellFormed()
}

function areValid({ iss, iat, exp }: Claims, expected: { iss: string; now: number }): boolean {
  return iss === expected.iss && exp > expected.now - LEEWAY && iat <= expected.now + LEEWAY
}

/** Claims that we do not know are left out, as RFC 7519 section 4 has it. */
function pickClaims({ iss, sub, project_id, scope, jti, iat, exp }: Claims): Claims {
  return { iss, sub, project_id, scope, jti, iat, exp }
}

type Members = Record<string, unknown>

function encode(text: string): string {
  return Buffer.from(text).toString('base64url')
}

/** The object in a segment, else undefined: strict where Node's decoder and `JSON.parse` are lax. */
function decode(segment: string): Members | undefined {
  const bytes = Buffer.from(segment, 'base64url')
  // Node skips what is not base64url; only the one canonical spelling comes back the same.
  if (bytes.toString('base64url') !== segment || !isUtf8(bytes)) return undefined

  const text = bytes.toString()
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value !== 'object' || value === null) return undefined
    // `JSON.parse` drops all but the last member of a name: then the text has strings to spare.
    return countStrings(value) === countQuoted(text) ? (value as Members) : undefined
  } catch {
    return undefined
  }
}

/** The strings in a parsed value, names of members included. */
function countStrings(value: unknown): number {
  if (typeof value === 'string') return 1
  if (typeof value !== 'object' || value === null) return 0
  const children = Object.values(value)
  const names = Array.isArray(value) ? 0 : children.length
  return children.reduce((sum, child) => sum + countStrings(child), names)
}

/** The strings in a text that is known to be JSON. */
function countQuoted(json: string): number {
  return json.match(/"(?:[^"\\]|\\.)*"/g)?.length ?? 0
}
