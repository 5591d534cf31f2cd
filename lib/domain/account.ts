import {
  type Fields,
  type Given,
  note,
  oneOf,
  optional,
  parseAt,
  parseObject,
  required,
  text,
  withSchema,
} from './fields.ts'
import { type NewProject, newProjectFields } from './project.ts'

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

/** The input for a new key of an account. */
export interface NewAccountKey {
  /** 1 to 255 characters. */
  readonly name?: string | undefined
}

export const newKeyFields: Fields<Given<NewAccountKey>> = {
  name: optional(note('Says what the key is for.', text(1, 255))),
}

export interface NewAccount {
  readonly name: string
  /** The first project, which is created in the same transaction. */
  readonly project?: FirstProject | undefined
}

export type FirstProject = Pick<NewProject, 'name' | 'bundle_id' | 'platform'>

export function parseNewAccount(input: unknown, platforms: readonly string[]): NewAccount {
  const { name, bundle_id } = newProjectFields
  const project: Fields<FirstProject> = { name, bundle_id, platform: required(oneOf(platforms)) }
  const fields: Fields<NewAccount> = {
    name: required(text(1, 255)),
    project: optional(
      withSchema<FirstProject | undefined>({}, (value, field, problems) =>
        parseAt(value, project, field, problems),
      ),
    ),
  }
  return parseObject(input, fields)
}
