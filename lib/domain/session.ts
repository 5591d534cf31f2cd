import type { KeyScope } from './account.ts'
import { type InputOf, objectSchema, parseObject } from './fields.ts'
import { isObject } from './json.ts'
import {
  list,
  note,
  oneOf,
  optional,
  optionalOrEmpty,
  type Rule,
  required,
  text,
  wholeNumber,
  withSchema,
} from './rules.ts'

/** The permissions of a token. */
export const SCOPES = ['items:read', 'projects:write', 'purchases:import'] as const
export type Scope = (typeof SCOPES)[number]

/** The scope that lets an account key do the same. */
export const KEY_SCOPE_OF = {
  'items:read': 'read',
  'projects:write': 'catalog',
  'purchases:import': 'purchases',
} as const satisfies { readonly [S in Scope]: KeyScope }

/** Who issued a token: the account, or the server for a client that has the public key. */
export type TokenIssuer = 'account' | 'public_key'

/** The caller that a verified token identifies. It has access to only one project. */
export interface Session {
  readonly account_id: string
  readonly project_id: string
  /** The id of the user. Clients choose it freely, unless `issued_by` is `account`. */
  readonly user_id: string
  readonly scopes: readonly Scope[]
  readonly issued_by: TokenIssuer
  /** The token's `jti`. */
  readonly token_id: string
  /** The token's `iat`: Unix seconds, as in every JWT. */
  readonly iat: number
  /** The token's `exp`: Unix seconds. */
  readonly exp: number
}

const deviceFields = {
  device_id: optional(text(0, 255)),
  platform: optionalOrEmpty(oneOf(['ios', 'android', 'web'])),
  os_version: optional(text(0, 255)),
  app_version: optional(text(0, 255)),
}

export interface DeviceInfo extends InputOf<typeof deviceFields> {}

const DEVICE_SCHEMA = { ...objectSchema(deviceFields), description: 'Checked, but not stored.' }

const deviceInfo = withSchema<DeviceInfo>(DEVICE_SCHEMA, (value, field, problems) => {
  if (!isObject(value)) {
    problems.push({ field, code: 'invalid', message: 'must be an object' })
    return {}
  }
  for (const [key, rule] of Object.entries(deviceFields))
    rule(value[key], `${field}.${key}`, problems)
  return value as DeviceInfo
})

const userId = text(1, 255, { control: false })

export const sessionFields = {
  public_key: optional(note('Must equal the header `x-public-project-key`.', text(0, 255))),
  user_id: required(note('The id of the user in your system.', userId)),
  device_info: optional(deviceInfo),
  dlscheme: optional(note('Neither checked nor stored.', text(0, 65_536))),
}

/** The input to open a session of a user. `device_info` is checked but not stored. */
export interface SessionRequest extends InputOf<typeof sessionFields> {}

/** Parses the input that opens a session. If it has a `public_key`, this must equal `publicKey`. */
export function parseSessionRequest(input: unknown, publicKey: string) {
  return parseObject(input, { ...sessionFields, public_key: optionalOrEmpty(sameAs(publicKey)) })
}

const SCOPES_SCHEMA = { type: 'array', items: { enum: SCOPES }, minItems: 1 }

const someScopes = withSchema<readonly Scope[]>(SCOPES_SCHEMA, (value, field, problems) => {
  const scopes = list(oneOf(SCOPES), SCOPES.length)(value, field, problems)
  if (Array.isArray(value) && value.length === 0) {
    problems.push({ field, code: 'invalid', message: 'must name at least one scope' })
  }
  return scopes
})

export const newTokenFields = {
  project_id: required(text(1, 64)),
  /** The id of the user; default: the id of the project, for a token without a user. */
  user_id: optional(userId),
  /** The permissions of the token. Default: only `items:read`, the least that a client needs. */
  scopes: optional(someScopes, (): readonly Scope[] => ['items:read']),
  /** The lifetime: one minute to one day. Default: the till's `tokenLifetime`. */
  ttl_seconds: optional(note('Default: the lifetime of all tokens.', wholeNumber(60, 86_400))),
}

/** The input of an account that issues a token. */
export interface NewToken extends InputOf<typeof newTokenFields> {}

export const tokenCheckFields = { token: required(text(1, 16_384)) }

/** The token that a client has sent to your server. */
export interface TokenCheck extends InputOf<typeof tokenCheckFields> {}

/** The state of a token, as in RFC 7662. Without the other fields, it is not valid. */
export interface TokenState extends Partial<TokenFacts> {
  readonly active: boolean
}

interface TokenFacts {
  readonly project_id: string
  /** The id of the user. Trust it only if `issued_by` is `account`: else the client chose it. */
  readonly sub: string
  /** The scopes, separated by blanks. */
  readonly scope: string
  readonly issued_by: TokenIssuer
  /** Unix seconds. */
  readonly iat: number
  /** Unix seconds. */
  readonly exp: number
}

export const revocationFields = { project_id: required(text(1, 64)), user_id: optional(userId) }

/** The input to revoke all tokens of a project, or only those of one user. */
export interface TokenRevocation extends InputOf<typeof revocationFields> {}

function sameAs(publicKey: string): Rule<string> {
  return withSchema({ const: publicKey }, (value, field, problems) => {
    if (value !== publicKey) {
      const message = 'must equal the header x-public-project-key'
      problems.push({ field, code: 'mismatch', message })
    }
    return publicKey
  })
}
