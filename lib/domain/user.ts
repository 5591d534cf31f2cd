import type { InputOf } from './fields.ts'
import { boolean, note, optional, required, text } from './rules.ts'

/** The result of an erasure. */
export interface ErasedUser {
  /** The pseudonym that replaces the id of the user. */
  readonly pseudonym: string
  /** The number of purchases that this call erased. */
  readonly purchases: number
  /** Whether anything was stored of the user. */
  readonly found: boolean
}

export const userFields = { project_id: required(text(1, 64)), user_id: required(text(1, 255)) }

/** A user of a project. */
export interface UserQuery extends InputOf<typeof userFields> {}

export const erasureFields = {
  ...userFields,
  /** Whether to delete the purchases; default false. Their ids cannot be imported again. */
  delete: optional(note('Whether to delete the purchases of the user.', boolean), () => false),
}

export interface UserErasure extends InputOf<typeof erasureFields> {}
