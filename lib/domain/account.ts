import { type Fields, parseObject, required, text } from './fields.ts'

/** The owner of projects. */
export interface Account {
  readonly account_id: string
  readonly name: string
  /** ISO 8601, UTC. */
  readonly created_at: string
  /** Never present. Without these a project, an item or a store would pass as an account. */
  readonly id?: never
  readonly project_id?: never
}

/** A credential of an account. `hash` is the SHA-256 of the key, base64url. */
export interface AccountKey {
  readonly key_id: string
  readonly account_id: string
  readonly hash: string
  readonly created_at: string
  /** The key is invalid from this time on. */
  readonly revoked_at?: string
}

export interface NewAccount {
  readonly name: string
}

const fields: Fields<NewAccount> = { name: required(text(1, 255)) }

export function parseNewAccount(input: unknown): NewAccount {
  return parseObject(input, fields)
}
