import { type Fields, parseObject, required, text } from './fields.ts'

/** A user of a project. */
export interface UserQuery {
  readonly project_id: string
  readonly user_id: string
}

const userFields: Fields<UserQuery> = {
  project_id: required(text(1, 64)),
  user_id: required(text(1, 255)),
}

export function parseUserQuery(input: unknown): UserQuery {
  return parseObject(input, userFields)
}

/**
 * Replaces a user id in a text where it is a whole word: `player-1` in `order/player-1`, but not in
 * `player-10`. Words end at any character but letters and digits.
 */
export function replaceUser(written: string, user_id: string, by: string): string {
  const parts = written.split(user_id)
  let result = parts[0] as string
  for (const part of parts.slice(1)) {
    const isWord = !/[\p{L}\p{N}]$/u.test(result) && !/^[\p{L}\p{N}]/u.test(part)
    result += (isWord ? by : user_id) + part
  }
  return result
}
