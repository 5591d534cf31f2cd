import { config, type Fields, type InputOf, type ParsedOf, parseObject } from './fields.ts'
import { isObject, type JsonObject } from './json.ts'
import {
  boolean,
  bundleId,
  currency,
  freeForm,
  linkUrl,
  list,
  note,
  oneOf,
  optional,
  orNull,
  pattern,
  type Rule,
  required,
  text,
  withSchema,
} from './rules.ts'
import { status } from './status.ts'
import { replaceConfig, storedWebhookUrl, webhookSecret, webhookUrl } from './webhook-settings.ts'

/** A store: the configuration of a payment provider, with items and purchases. */
export interface Store {
  readonly account_id: string
  readonly project_id: string
  /** The id of the store, unique within the account. */
  readonly store_id: string
  readonly store_type: StoreType
  /** Whether the store is a sandbox. A new store is none by default. */
  readonly is_sandbox: boolean
  /** Any text, default `active`. A `disabled`, `inactive`, `suspended` or `archived` store takes no purchases. */
  readonly status: string
  /** The settings of the store, without secrets. */
  readonly store_config: JsonObject
  readonly created_at: string
}

/** The types of stores. */
export const STORE_TYPES = ['iap', 'web', 'custom'] as const
export type StoreType = (typeof STORE_TYPES)[number]

// `.` and `..` cannot be a part of a URL's path.
export const storeId = pattern(
  /^(?!\.{1,2}$)[A-Za-z0-9_.-]{1,64}$/,
  'must be 1 to 64 letters, digits, _, - and ., but not . or ..',
)

const IAP_PLATFORMS = ['google_play', 'app_store', 'epic_game_store', 'steam']

const iapPlatform = withSchema<unknown>({ const: 'google_play' }, (value, field, problems) => {
  if (value === 'google_play') return
  problems.push(
    IAP_PLATFORMS.includes(value as string)
      ? {
          field,
          code: 'unsupported',
          message: `is not supported yet: ${value}; only google_play is`,
        }
      : { field, code: 'invalid', message: `must be one of ${IAP_PLATFORMS.join(', ')}` },
  )
})

const secret = text(1, 8192)

const commonKeys = {
  currency,
  webhook_enabled: note('Whether `webhook_url` receives the changes of this store.', boolean),
  webhook_url: webhookUrl,
  webhook_secret: webhookSecret,
  test_mode: note('Is stored, and has no effect.', boolean),
}

const configKeys: Record<StoreType, Fields> = {
  web: {
    ...commonKeys,
    payment_methods: list(text(1, 255), 100),
    return_url: linkUrl,
    cancel_url: linkUrl,
  },
  iap: { ...commonKeys, platform: iapPlatform, bundle_id: bundleId, shared_secret: secret },
  custom: { ...commonKeys, provider: text(1, 255), api_key: secret },
}

/** The keys of `store_config` that hold secrets, by store type. Their values must be strings. */
export const SECRETS_OF_TYPE: Record<StoreType, readonly string[]> = {
  web: ['webhook_secret'],
  iap: ['webhook_secret', 'shared_secret'],
  custom: ['webhook_secret', 'api_key'],
}

/** The names of all secrets in `store_config`. Only the caller who sends a secret gets it back. */
export const STORE_SECRETS = [...new Set(Object.values(SECRETS_OF_TYPE).flat())].sort()

/** The field rules for a new store of each type. */
export const newStoreFields = {
  web: fieldsOfNewStore(['web'], configKeys.web),
  iap: fieldsOfNewStore(['iap'], configKeys.iap),
  custom: fieldsOfNewStore(['custom'], configKeys.custom),
} satisfies Record<StoreType, unknown>

function fieldsOfNewStore(types: readonly StoreType[], keys: Fields) {
  return {
    project_id: required(note('A project of the account.', text(1, 64))),
    /** The id: 1 to 64 letters, digits, `_`, `-` and `.`, unique within the account; default: a new id. */
    store_id: optional(note('Unique in the account. Default: a new id.', storeId)),
    store_type: required(oneOf(types)),
    /** Whether the store is a sandbox; default false. */
    is_sandbox: optional(boolean, () => false),
    /** Any text, default `active`. A `disabled`, `inactive`, `suspended` or `archived` store takes no purchases. */
    status: optional(status, () => 'active'),
    store_config: optional(config(keys), () => ({})),
  }
}

export interface NewStore extends InputOf<ReturnType<typeof fieldsOfNewStore>> {}

/**
 * Throws `invalid_request` that names every bad field. The keys of `store_config` follow from the
 * `store_type`.
 */
export function parseNewStore(input: unknown) {
  const type = STORE_TYPES.find((each) => isObject(input) && input.store_type === each)
  return parseObject(input, type ? newStoreFields[type] : fieldsOfNewStore(STORE_TYPES, commonKeys))
}

function fieldsOfChange(type: StoreType) {
  const keys = configKeys[type]
  const nullable = SECRETS_OF_TYPE[type].map((key) => [key, orNull(keys[key] as Rule<unknown>)])
  const changed = { webhook_url: storedWebhookUrl, ...Object.fromEntries(nullable) }
  return {
    store_id: required(storeId),
    is_sandbox: optional(boolean),
    /** Any text. A `disabled`, `inactive`, `suspended` or `archived` store takes no purchases. */
    status: optional(status),
    /**
     * Replaces the whole `store_config`. If a secret is missing, it stays; `webhook_secret` stays
     * unless there is a new `webhook_url`. `null` removes a secret.
     */
    store_config: optional(config({ ...keys, ...changed })), // `changeStore` checks a new URL
  }
}

type ChangeFields = ReturnType<typeof fieldsOfChange>

/** The fields of a change, whatever the type of the store. */
export const storeChangeFields = {
  ...fieldsOfChange('custom'),
  store_config: optional(
    note(
      'Replaces the stored object. Secrets that are not in the new object stay, but a new `webhook_url` removes the stored `webhook_secret`: without a new one, messages are not signed. `null` removes a secret.',
      freeForm,
    ),
  ),
}

export interface StoreChange extends InputOf<ChangeFields> {}

/** Parses a change of a store. `type` is its type, which never changes and decides the rules. */
export function parseStoreChange(input: unknown, type: StoreType): ParsedOf<ChangeFields> {
  return parseObject(input, fieldsOfChange(type))
}

/** Applies a change to a store. Throws `invalid_request` for a bad new `webhook_url`. */
export function changeStore(current: Store, change: ParsedOf<ChangeFields>): Store {
  const { store_id: _, store_config: sent, ...rest } = change
  if (!sent) return { ...current, ...rest }
  return {
    ...current,
    ...rest,
    store_config: replaceConfig('store_config', current.store_config, sent, STORE_SECRETS),
  }
}

/** Parses the `store_id` of an input. Does not check the other fields. */
export function parseStoreId(input: unknown): string {
  const given = isObject(input) ? input.store_id : undefined
  return parseObject({ store_id: given }, { store_id: required(storeId) }).store_id
}
