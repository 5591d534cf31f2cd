import {
  deepLinkScheme,
  type Fields,
  isObject,
  list,
  oneOf,
  optional,
  parseExact,
  parseObject,
  type Rule,
  required,
  text,
  wholeNumber,
} from './fields.ts'

/** What a token lets its bearer do. */
export const SCOPES = ['items:read', 'projects:write', 'purchases:import'] as const
export type Scope = (typeof SCOPES)[number]

/** Who issued a token: the account itself, or the server to a client with a public key. */
export type TokenIssuer = 'account' | 'public_key'

/** A verified bearer: it reaches one project alone. */
export interface Session {
  readonly account_id: string
  readonly project_id: string
  /** Chosen by the client unless `issued_by` is `account`. */
  readonly user_id: string
  readonly scopes: readonly Scope[]
  readonly issued_by: TokenIssuer
  /** The token's `jti`. */
  readonly token_id: string
  /** The token's `iat`, Unix seconds. */
  readonly issued_at: number
}

/** The body of endpoints 2 and 3. Device info is checked and not kept. */
export interface SessionRequest {
  readonly public_key?: string | undefined
  readonly user_id: string
  readonly device_info?: DeviceInfo | undefined
  readonly dlscheme?: string | undefined
}

export interface DeviceInfo {
  readonly device_id?: string | undefined
  readonly platform?: 'ios' | 'android' | 'web' | undefined
  readonly os_version?: string | undefined
  readonly app_version?: string | undefined
}

const deviceFields = {
  device_id: optional(text(0, 255)),
  platform: optional(oneOf(['ios', 'android', 'web'])),
  os_version: optional(text(0, 255)),
  app_version: optional(text(0, 255)),
}

const deviceInfo: Rule<DeviceInfo> = (value, field, problems) => {
  if (!isObject(value)) {
    problems.push({ field, code: 'invalid', message: 'must be an object' })
    return {}
  }
  for (const [key, rule] of Object.entries(deviceFields))
    rule(value[key], `${field}.${key}`, problems)
  return value
}

/** `publicKey` is the header's: a `public_key` in the body, when present, must be the same. */
export function parseSessionRequest(input: unknown, publicKey: string): SessionRequest {
  const fields: Fields<SessionRequest> = {
    public_key: optional(sameAs(publicKey)),
    user_id: required(userId),
    device_info: optional(deviceInfo),
    dlscheme: optional(deepLinkScheme),
  }
  return parseObject(input, fields)
}

/** A token that an account gives out itself. */
export interface NewToken {
  readonly project_id: string
  /** The project itself unless told. */
  readonly user_id?: string | undefined
  /** All unless told. */
  readonly scopes?: readonly Scope[] | undefined
  /** Seconds, 60 to 86400; those of all tokens unless told. */
  readonly lifetime?: number | undefined
}

const userId = text(1, 255, { control: false })

const someScopes: Rule<Scope[]> = (value, field, problems) => {
  const scopes = list(oneOf(SCOPES), SCOPES.length)(value, field, problems)
  if (Array.isArray(value) && value.length === 0) {
    problems.push({ field, code: 'invalid', message: 'must name at least one scope' })
  }
  return scopes
}

const newTokenFields: Fields<NewToken> = {
  project_id: required(text(1, 64)),
  user_id: optional(userId),
  scopes: optional(someScopes),
  lifetime: optional(wholeNumber(60, 86_400)),
}

export function parseNewToken(input: unknown): NewToken {
  return parseExact(input, newTokenFields)
}

/** Whose tokens are revoked: a project's, or those of one of its users. */
export interface TokenRevocation {
  readonly project_id: string
  readonly user_id?: string | undefined
}

const revocationFields: Fields<TokenRevocation> = {
  project_id: required(text(1, 64)),
  user_id: optional(userId),
}

export function parseTokenRevocation(input: unknown): TokenRevocation {
  return parseExact(input, revocationFields)
}

function sameAs(publicKey: string): Rule<string> {
  return (value, field, problems) => {
    if (value !== publicKey) {
      const message = 'must equal the header x-public-project-key'
      problems.push({ field, code: 'mismatch', message })
    }
    return publicKey
  }
}
