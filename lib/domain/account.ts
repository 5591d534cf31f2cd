import { type Fields, parseObject, required, text } from './fields.ts'

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
}

export interface NewAccount {
  readonly name: string
}

const fields: Fields<NewAccount> = { name: required(text(1, 255)) }

export function parseNewAccount(input: unknown): NewAccount {
  return parseObject(input, fields)
}
