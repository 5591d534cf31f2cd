import { type Fields, parseObject, required, text } from './fields.ts'

/** Who owns projects. Made by library and CLI only. */
export interface Account {
  readonly account_id: string
  readonly name: string
  /** ISO 8601, UTC. */
  readonly created_at: string
}

/** A credential of an account. The key itself is shown once; `hash` is its SHA-256, base64url. */
export interface AccountKey {
  readonly key_id: string
  readonly account_id: string
  readonly hash: string
  readonly created_at: string
  /** Since when it opens nothing any more. */
  readonly revoked_at?: string
}

export interface NewAccount {
  readonly name: string
}

const fields: Fields<NewAccount> = { name: required(text(1, 255)) }

export function parseNewAccount(input: unknown): NewAccount {
  return parseObject(input, fields)
}
