import { type InputOf, object, type ParsedOf, parseObject } from './fields.ts'
import { newProjectFields } from './project.ts'
import { list, note, oneOf, optional, required, text, withSchema } from './rules.ts'

/** An account, which owns projects. */
export interface Account {
  readonly account_id: string
  readonly name: string
  /** The time of creation; ISO 8601, UTC. */
  readonly created_at: string
  /**
   * Never present. Without these fields, TypeScript would accept a project, item or store as an
   * account.
   */
  readonly id?: never
  readonly project_id?: never
}

/** The permissions of an account key. `admin` covers keys, webhooks and the audit log. */
export const KEY_SCOPES = ['read', 'catalog', 'purchases', 'tokens', 'users', 'admin'] as const
export type KeyScope = (typeof KEY_SCOPES)[number]

/** A key of an account. `hash` is the SHA-256 of the key's text, as base64url. */
export interface AccountKey {
  readonly key_id: string
  readonly account_id: string
  readonly hash: string
  readonly created_at: string
  /** The time of revocation; ISO 8601, UTC. Missing for a valid key. */
  readonly revoked_at?: string
  /** Says for people what the key is for, such as the server that has it. */
  readonly name?: string
  /** A key without this list has all scopes. */
  readonly scopes?: readonly KeyScope[]
  /** The day of the latest request with the key (UTC), such as `2026-01-31`. */
  readonly last_used_on?: string
}

const SCOPES_SCHEMA = {
  type: 'array',
  items: { enum: KEY_SCOPES },
  minItems: 1,
  description: 'The key may do nothing else. A key sets only scopes that it has.',
}

/** In the order of `KEY_SCOPES`, each once. */
const keyScopes = withSchema<readonly KeyScope[]>(SCOPES_SCHEMA, (value, field, problems) => {
  const given = list(oneOf(KEY_SCOPES), KEY_SCOPES.length)(value, field, problems)
  if (Array.isArray(value) && value.length === 0) {
    problems.push({ field, code: 'invalid', message: 'must name at least one scope' })
  }
  return KEY_SCOPES.filter((scope) => given.includes(scope))
})

export const newKeyFields = {
  /** 1 to 255 characters. */
  name: optional(note('Says what the key is for.', text(1, 255))),
  /** Default: all scopes, also those of later versions. */
  scopes: optional(keyScopes),
}

/** The input for a new key of an account. */
export interface NewAccountKey extends InputOf<typeof newKeyFields> {}

export const keyChangeFields = { key_id: required(text(1, 64)), ...newKeyFields }

/** The input to change a key of an account. */
export interface AccountKeyChange extends InputOf<typeof keyChangeFields> {}

const { name, bundle_id, platform } = newProjectFields
const firstProjectFields = { name, bundle_id, platform }

export interface FirstProject extends InputOf<typeof firstProjectFields> {}

const accountName = { name: required(text(1, 255)) }

const newAccountFields = {
  ...accountName,
  /** The first project. */
  project: optional(object<typeof firstProjectFields, FirstProject>(firstProjectFields)),
}

export interface NewAccount extends InputOf<typeof newAccountFields> {}

/**
 * Throws `invalid_request` that names every bad field. `platforms` are those that a project may
 * have.
 */
export function parseNewAccount(
  input: unknown,
  platforms: readonly string[],
): ParsedOf<typeof newAccountFields> {
  const project = object({ ...firstProjectFields, platform: required(oneOf(platforms)) })
  return parseObject(input, { ...newAccountFields, project: optional(project) })
}

/** Parses the input for an account without a first project. */
export function parseAccountName(input: unknown): ParsedOf<typeof accountName> {
  return parseObject(input, accountName)
}
