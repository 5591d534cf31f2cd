import {
  boolean,
  bundleId,
  type Complete,
  config,
  currency,
  deepLinkScheme,
  type Fields,
  freeForm,
  type Given,
  httpUrl,
  type JsonObject,
  list,
  oneOf,
  optional,
  orNull,
  parseExact,
  parseObject,
  replaceConfig,
  required,
  text,
  wholeNumber,
} from './fields.ts'
import { status } from './status.ts'

/** One game or application, bound to an account (specification, "Project"). */
export interface Project {
  readonly id: string
  readonly account_id: string
  readonly name: string
  readonly bundle_id: string
  readonly platform: string
  readonly status: string
  readonly dlscheme: string
  readonly public_key: string
  readonly config: JsonObject
  readonly created_at: string
}

/** The body of endpoint 8. */
export interface NewProject {
  /** The account that makes it. */
  readonly account_id: string
  readonly name: string
  /** In reverse-domain form. */
  readonly bundle_id: string
  readonly platform: string
  /** `active` unless told. */
  readonly status?: string | undefined
  readonly dlscheme?: string | undefined
  readonly config?: JsonObject | undefined
}

/** The body of endpoint 9, and the status, which only an account changes. */
export interface ProjectChange {
  readonly id: string
  readonly name?: string | undefined
  readonly platform?: string | undefined
  /** Replaces the configuration whole; a `webhook_secret` left out is kept, `null` removes it. */
  readonly config?: JsonObject | undefined
  readonly status?: string | undefined
}

/** Both lists of the specification: which one is enforced is unresolved there. */
export const PLATFORMS = ['mobile', 'web', 'desktop', 'ios', 'android', 'adroid'] as const

const configKeys = {
  sandbox_enabled: boolean,
  webhook_url: httpUrl,
  webhook_secret: text(1, 1024),
  allowed_currencies: list(currency, 500),
  custom_settings: freeForm,
}

/** On change, `null` removes the stored secret. */
const changedConfigKeys = { ...configKeys, webhook_secret: orNull(configKeys.webhook_secret) }

export function parseNewProject(
  input: unknown,
  platforms: readonly string[] = PLATFORMS,
): Complete<NewProject> {
  const fields: Fields<Complete<NewProject>> = {
    account_id: required(text(1, 64)),
    name: required(text(1, 255)),
    bundle_id: required(bundleId),
    platform: required(oneOf(platforms)),
    status: optional(status, () => 'active'),
    dlscheme: optional(deepLinkScheme, () => ''),
    config: optional(config(configKeys), () => ({})),
  }
  return parseObject(input, fields)
}

/** `by` decides whether `status` is a field of the change or unknown and ignored (endpoint 9). */
export function parseProjectChange(
  input: unknown,
  by: 'account' | 'session',
  platforms: readonly string[] = PLATFORMS,
): Given<ProjectChange> {
  const fields: Fields<Given<ProjectChange>> = {
    id: required(text(1, 64)),
    name: optional(text(1, 255)),
    platform: optional(oneOf(platforms)),
    config: optional(config(changedConfigKeys)),
    status: by === 'account' ? optional(status) : () => undefined,
  }
  return parseObject(input, fields)
}

export interface ProjectKeyRotation {
  /** The project. */
  readonly id: string
  /** How long the keys before it open sessions still, 0 to 30 days; a day unless told. */
  readonly grace_seconds?: number | undefined
}

const DAY = 86_400

export function parseKeyRotation(input: unknown): Complete<ProjectKeyRotation> {
  return parseExact(input, {
    id: required(text(1, 64)),
    grace_seconds: optional(wholeNumber(0, 30 * DAY), () => DAY),
  })
}

/** The project after a change: `config` is replaced whole, but for a secret that it leaves out. */
export function changeProject(current: Project, change: Given<ProjectChange>): Project {
  const { id: _, config: sent, ...rest } = change
  if (!sent) return { ...current, ...rest }
  return { ...current, ...rest, config: replaceConfig(current.config, sent, ['webhook_secret']) }
}

/** A project as it may be shown to one who did not send its secret. */
export function withoutProjectSecrets(project: Project): Project {
  const { webhook_secret: _, ...config } = project.config
  return { ...project, config }
}
