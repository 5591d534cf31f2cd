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
  type Input,
  type JsonObject,
  list,
  note,
  oneOf,
  optional,
  orNull,
  parseObject,
  required,
  text,
  wholeNumber,
} from './fields.ts'
import { status } from './status.ts'
import { replaceConfig, storedWebhookUrl, webhookSecret, webhookUrl } from './webhook-settings.ts'

/** A project: a game or an application of an account. */
export interface Project {
  readonly id: string
  readonly account_id: string
  readonly name: string
  /** The bundle id, in reverse-domain form: `com.example.game`. */
  readonly bundle_id: string
  /** One of `PLATFORMS`. */
  readonly platform: string
  /** Any text; `disabled` and `archived` make the project inactive: it has no valid tokens. */
  readonly status: string
  /** The scheme of deep links, or ''. */
  readonly dlscheme: string
  /** The key with which clients open sessions. */
  readonly public_key: string
  /** The settings of the project, without secrets. */
  readonly config: JsonObject
  readonly created_at: string
}

/** The fields of a project that no input has. */
type OwnField = 'id' | 'account_id' | 'public_key' | 'created_at'

/** The fields that an update may change: all others, except those that never change. */
export type ProjectFields = Omit<Project, OwnField | 'bundle_id' | 'dlscheme'>

export interface NewProject
  extends Input<Omit<Project, OwnField | 'status' | 'dlscheme' | 'config'>> {
  /** The account that creates the project; optional. */
  readonly account_id?: string
  /** The status; default `active`. */
  readonly status?: string | undefined
  readonly dlscheme?: string | undefined
  readonly config?: JsonObject | undefined
}

export interface ProjectChange extends Input<Partial<Omit<ProjectFields, 'status' | 'config'>>> {
  readonly id: string
  /**
   * Replaces the whole `config`. Without a `webhook_secret`, the stored one is kept, unless
   * `webhook_url` changes. If it is `null`, the stored one is removed.
   */
  readonly config?: JsonObject | undefined
  /** The new status. Only an account may set it, not a session. */
  readonly status?: string | undefined
}

/**
 * The platforms of both lists in the specification. It misspells `android` as `adroid`, so both
 * spellings are accepted.
 */
export const PLATFORMS = ['mobile', 'web', 'desktop', 'ios', 'android', 'adroid'] as const

/** The names of all secrets in `config`. */
export const PROJECT_SECRETS = ['webhook_secret']

const configKeys = {
  sandbox_enabled: boolean,
  webhook_url: webhookUrl,
  webhook_secret: webhookSecret,
  allowed_currencies: list(currency, 500),
  custom_settings: freeForm,
}

const changedConfigKeys = {
  ...configKeys,
  webhook_url: storedWebhookUrl, // `changeProject` checks a new URL
  webhook_secret: note('`null` removes the stored secret.', orNull(configKeys.webhook_secret)),
}

export const newProjectFields: Fields<Complete<NewProject>> = {
  account_id: required(note('The account that the key belongs to.', text(1, 64))),
  name: required(text(1, 255)),
  bundle_id: required(bundleId),
  platform: required(note('The misspelling `adroid` is accepted too.', oneOf<string>(PLATFORMS))),
  status: optional(status, () => 'active'),
  dlscheme: optional(note('The scheme of deep links.', deepLinkScheme), () => ''),
  config: optional(config(configKeys), () => ({})),
}

export function parseNewProject(
  input: unknown,
  platforms: readonly string[] = PLATFORMS,
): Complete<NewProject> {
  return parseObject(input, { ...newProjectFields, platform: required(oneOf(platforms)) })
}

/** The fields that a session may change. */
export const projectChangeFields: Fields<Given<Omit<ProjectChange, 'status'>>> = {
  id: required(note('The project that the token belongs to.', text(1, 64))),
  name: optional(text(1, 255)),
  platform: optional(note('The misspelling `adroid` is accepted too.', oneOf<string>(PLATFORMS))),
  config: optional(config(changedConfigKeys)),
}

/** The field that only an account may change. */
export const statusFields = { status: optional(status) }

/** Parses a change of a project. Only an account may change the `status`, not a session. */
export function parseProjectChange(
  input: unknown,
  by: 'account' | 'session',
  platforms: readonly string[] = PLATFORMS,
): Given<ProjectChange> {
  const fields = { ...projectChangeFields, platform: optional(oneOf(platforms)) }
  if (by === 'session') return parseObject(input, fields)
  return parseObject<Given<ProjectChange>>(input, { ...fields, ...statusFields })
}

export interface ProjectKeyRotation {
  /** The id of the project. */
  readonly id: string
  /** How long replaced public keys still work, in milliseconds: 0 to 30 days; default one day. */
  readonly gracePeriod?: number | undefined
}

const DAY = 86_400_000

export function parseKeyRotation(input: unknown): Complete<ProjectKeyRotation> {
  return parseObject(input, {
    id: required(text(1, 64)),
    gracePeriod: optional(wholeNumber(0, 30 * DAY), () => DAY),
  })
}

/** Applies a change to a project. Throws `invalid_request` for a bad new `webhook_url`. */
export function changeProject(current: Project, change: Given<ProjectChange>): Project {
  const { id: _, config: sent, ...rest } = change
  if (!sent) return { ...current, ...rest }
  return {
    ...current,
    ...rest,
    config: replaceConfig('config', current.config, sent, PROJECT_SECRETS),
  }
}
