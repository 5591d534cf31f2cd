import { type InputOf, required, text } from './fields.ts'

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
