import {
  deepLinkScheme,
  type Fields,
  isObject,
  oneOf,
  optional,
  parseObject,
  type Rule,
  required,
  text,
} from './fields.ts'

/** What a token lets its bearer do. */
export const SCOPES = ['items:read', 'projects:write', 'purchases:import'] as const
export type Scope = (typeof SCOPES)[number]

/** A verified bearer: it reaches one project alone. */
export interface Session {
  readonly account_id: string
  readonly project_id: string
  readonly user_id: string
  readonly scopes: readonly Scope[]
}

/** The body of endpoints 2 and 3. Device info is checked and not kept. */
export interface SessionRequest {
  readonly public_key?: string
  readonly user_id: string
  readonly device_info?: DeviceInfo
  readonly dlscheme?: string
}

export interface DeviceInfo {
  readonly device_id?: string
  readonly platform?: 'ios' | 'android' | 'web'
  readonly os_version?: string
  readonly app_version?: string
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
    user_id: required(text(1, 255, { control: false })),
    device_info: optional(deviceInfo),
    dlscheme: optional(deepLinkScheme),
  }
  return parseObject(input, fields)
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
