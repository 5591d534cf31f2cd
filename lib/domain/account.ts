import {
  type InputOf,
  note,
  object,
  oneOf,
  optional,
  type ParsedOf,
  parseObject,
  required,
  text,
} from './fields.ts'
import { newProjectFields } from './project.ts'

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
  /** The day of the latest request with the key (UTC), such as `2026-01-31`. */
  readonly last_used_on?: string
}

export const newKeyFields = {
  /** 1 to 255 characters. */
  name: optional(note('Says what the key is for.', text(1, 255))),
}

/** The input for a new key of an account. */
export interface NewAccountKey extends InputOf<typeof newKeyFields> {}

const { name, bundle_id, platform } = newProjectFields
const firstProjectFields = { name, bundle_id, platform }

export interface FirstProject extends InputOf<typeof firstProjectFields> {}

const newAccountFields = {
  name: required(text(1, 255)),
  /** The first project. */
  project: optional(object<typeof firstProjectFields, FirstProject>(firstProjectFields)),
}

export interface NewAccount extends InputOf<typeof newAccountFields> {}

export function parseNewAccount(
  input: unknown,
  platforms: readonly string[],
): ParsedOf<typeof newAccountFields> {
  const project = object({ ...firstProjectFields, platform: required(oneOf(platforms)) })
  return parseObject(input, { ...newAccountFields, project: optional(project) })
}
