import { type Fields, required, text } from './fields.ts'

/** A user of a project. */
export interface UserQuery {
  readonly project_id: string
  readonly user_id: string
}

/** The result of an erasure. */
export interface ErasedUser {
  /** The pseudonym that replaces the id of the user. */
  readonly pseudonym: string
  /** The number of purchases that this call erased. */
  readonly purchases: number
  /** Whether anything was stored of the user. */
  readonly found: boolean
}

export const userFields: Fields<UserQuery> = {
  project_id: required(text(1, 64)),
  user_id: required(text(1, 255)),
}
