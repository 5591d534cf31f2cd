import { config, type InputOf, type ParsedOf, parseObject } from './fields.ts'
import type { JsonObject } from './json.ts'
import {
  boolean,
  bundleId,
  currency,
  deepLinkScheme,
  freeForm,
  list,
  note,
  oneOf,
  optional,
  orNull,
  required,
  text,
  wholeNumber,
} from './rules.ts'
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
  /** Any text. A `disabled`, `inactive`, `suspended` or `archived` project has no valid tokens. */
  readonly status: string
  /** The scheme of deep links, or ''. */
  readonly dlscheme: string
  /** The key with which clients open sessions. */
  readonly public_key: string
  /** The settings of the project, without secrets. */
  readonly config: JsonObject
  readonly created_at: string
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

export const newProjectFields = {
  account_id: required(note('The account that the key belongs to.', text(1, 64))),
  name: required(text(1, 255)),
  /** The bundle id, in reverse-domain form: `com.example.game`. */
  bundle_id: required(bundleId),
  /** One of `PLATFORMS`. */
  platform: required(note('The misspelling `adroid` is accepted too.', oneOf<string>(PLATFORMS))),
  /** The status; default `active`. */
  status: optional(status, () => 'active'),
  /** The scheme of deep links, or ''. */
  dlscheme: optional(note('The scheme of deep links.', deepLinkScheme), () => ''),
  config: optional(config(configKeys), () => ({})),
}

export interface NewProject extends Omit<InputOf<typeof newProjectFields>, 'account_id'> {
  /** The account that creates the project; optional. */
  readonly account_id?: string
}

type ParsedProject = ParsedOf<typeof newProjectFields>

/**
 * Throws `invalid_request` that names every bad field, also a platform that is not in `platforms`.
 */
export function parseNewProject(
  input: unknown,
  platforms: readonly string[] = PLATFORMS,
): ParsedProject {
  return parseObject(input, { ...newProjectFields, platform: required(oneOf(platforms)) })
}

/** The fields that a session may change. */
export const projectChangeFields = {
  id: required(note('The project that the token belongs to.', text(1, 64))),
  name: optional(text(1, 255)),
  /** One of `PLATFORMS`. */
  platform: optional(note('The misspelling `adroid` is accepted too.', oneOf<string>(PLATFORMS))),
  /**
   * Replaces the whole `config`. Without a `webhook_secret`, the stored one is kept, unless
   * there is a new `webhook_url`. If it is `null`, the stored one is removed.
   */
  config: optional(
    note(
      'Replaces the stored object. A stored `webhook_secret` stays, but a new `webhook_url` removes it: without a new secret, messages are not signed.',
      config(changedConfigKeys),
    ),
  ),
}

/** The field that only an account may change. */
export const statusFields = {
  /** The new status. Only an account may set it, not a session. */
  status: optional(status),
}

const allChangeFields = { ...projectChangeFields, ...statusFields }

export interface ProjectChange extends InputOf<typeof allChangeFields> {}

type ParsedChange = ParsedOf<typeof allChangeFields>

/** Parses a change of a project. Only an account may change the `status`, not a session. */
export function parseProjectChange(
  input: unknown,
  by: 'account' | 'session',
  platforms: readonly string[] = PLATFORMS,
): ParsedChange {
  const fields = by === 'session' ? projectChangeFields : allChangeFields
  return parseObject(input, { ...fields, platform: optional(oneOf(platforms)) })
}

const DAY = 86_400_000

export const rotationFields = {
  /** The id of the project. */
  id: required(text(1, 64)),
  /** How long replaced public keys still work, in milliseconds: 0 to 30 days; default one day. */
  grace_period: optional(
    note('How long former public keys still work, in milliseconds.', wholeNumber(0, 30 * DAY)),
    () => DAY,
  ),
}

export interface ProjectKeyRotation extends InputOf<typeof rotationFields> {}

/** Throws `invalid_request` that names every bad field. */
export function parseKeyRotation(input: unknown) {
  return parseObject(input, rotationFields)
}

/** Applies a change to a project. Throws `invalid_request` for a bad new `webhook_url`. */
export function changeProject(current: Project, change: ParsedChange): Project {
  const { id: _, config: sent, ...rest } = change
  if (!sent) return { ...current, ...rest }
  return {
    ...current,
    ...rest,
    config: replaceConfig('config', current.config, sent, PROJECT_SECRETS),
  }
}
