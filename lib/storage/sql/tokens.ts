import { FIND_WATERMARK, lockAuthority, lockOf, lockRows, verifyAuthority } from './authority.ts'
import { numberOf } from './columns.ts'
import type { Sql } from './dialect.ts'
import { all, find, insert, type Program, run } from './program.ts'
import { pseudonymOf } from './pseudonym.ts'
import type { Revocation, StoredSigningKey, UserKey, WriteOptions } from './records.ts'
import { SIGNING_KEYS, WATERMARKS } from './tables.ts'
import { recordWrite, shareOf } from './write.ts'

export function tokenMethods(sql: Sql) {
  const { read, write } = sql
  const deleteSigningKeys = `DELETE FROM signing_keys WHERE kid IN ${sql.each.text}`
  const listSigningKeys = `
    SELECT kid, ${sql.bytes('secret')} AS secret, created_at FROM signing_keys ORDER BY seq`
  const revoke = `
    INSERT INTO watermarks (project_id, user_id, not_after)
    SELECT ?, ?, max(n) FROM (
      SELECT CAST(? AS bigint) AS n UNION ALL SELECT not_after + 1 FROM watermarks
      WHERE project_id = ? AND (? = '' OR user_id IN ('', ?, ?))) u WHERE true
    ON CONFLICT (project_id, user_id) DO UPDATE SET not_after = excluded.not_after`
  const raiseWatermark = `
    ${WATERMARKS.insertion} ON CONFLICT (project_id, user_id)
    DO UPDATE SET not_after = excluded.not_after WHERE watermarks.not_after < excluded.not_after`

  function* listKeys(): Program<StoredSigningKey[]> {
    return (yield* all(listSigningKeys)).map(SIGNING_KEYS.read)
  }

  /** Locks the watermarks of a project until the transaction ends, and verifies the authority. */
  function* lockWatermarks(project_id: string, { authority }: WriteOptions): Program<void> {
    yield* lockAuthority(sql, authority, lockOf.project(project_id))
    // Locks the project's row, because there may be no watermark to lock yet.
    yield* lockRows(sql, 'SELECT 1 FROM projects WHERE id = ?', project_id)
    yield* verifyAuthority(sql, authority)
  }

  return {
    /** Inserts a signing key if there is none. Of concurrent calls, only one inserts. */
    insertFirstSigningKey: (key: StoredSigningKey) =>
      write(function* () {
        yield* sql.lockTable('signing_keys', 'EXCLUSIVE')
        if (!(yield* find('SELECT 1 FROM signing_keys LIMIT 1'))) yield* insert(SIGNING_KEYS, key)
      }),
    /**
     * Lists the signing keys, oldest first. Not paged, because there are few: only the operator adds
     * keys, and a rotation deletes those that no valid token needs.
     */
    listSigningKeys: () => read(listKeys()),
    /**
     * Inserts a key, and deletes the keys whose `kid` is in the result of `drop`. `drop` gets all
     * keys, including the new one. Resolves to the result of `drop`. Concurrent rotations run one
     * after the other.
     */
    rotateSigningKeys: (
      key: StoredSigningKey,
      drop: (keys: readonly StoredSigningKey[]) => readonly string[],
      options: WriteOptions = {},
    ) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        yield* sql.lockTable('signing_keys', 'EXCLUSIVE')
        yield* insert(SIGNING_KEYS, key)
        const kids = drop(yield* listKeys())
        if (kids.length > 0) yield* run(deleteSigningKeys, kids)
        yield* recordWrite(sql, options)
        return kids
      }),
    /**
     * Raises the revocation watermark of a project or of one of its users. The new watermark is the
     * time `at`, but at least 1 above each earlier watermark that applies to the revoked tokens.
     */
    revokeTokens: ({ project_id, user_id, at }: Revocation, options: WriteOptions = {}) =>
      write(function* () {
        yield* lockWatermarks(project_id, options)
        const pseudonym = pseudonymOf({ project_id, user_id })
        yield* run(revoke, project_id, user_id, at, project_id, user_id, user_id, pseudonym)
        yield* recordWrite(sql, options)
      }, shareOf(options)),
    /**
     * Finds the higher of the revocation watermarks of a project and its user; 0 if there is none. A
     * token is revoked if it was issued under a lower watermark.
     */
    async findWatermark(project_id: string, user_id: string) {
      const pseudonym = pseudonymOf({ project_id, user_id })
      return numberOf((await read(find(FIND_WATERMARK, project_id, user_id, pseudonym)))?.watermark)
    },
    /** Lists the revocation watermarks of a user, also that of the pseudonym. */
    listUserWatermarks: (user: UserKey) => read(listWatermarks(user)),
    /**
     * Moves a user's watermark to the user's pseudonym. Revoked tokens stay revoked. Resolves to
     * whether the user had a watermark.
     */
    pseudonymizeWatermark: (user: UserKey, options: WriteOptions = {}) =>
      write(function* () {
        const { project_id, user_id } = user
        yield* lockWatermarks(project_id, options)
        const row = yield* find(FIND_OWN_WATERMARK, project_id, user_id)
        if (row) {
          const moved = { ...user, user_id: pseudonymOf(user), not_after: numberOf(row.not_after) }
          yield* run(raiseWatermark, ...WATERMARKS.values(moved))
          yield* run(DELETE_WATERMARK, project_id, user_id)
        }
        yield* recordWrite(sql, options)
        return row !== undefined
      }, shareOf(options)),
  }
}

const FIND_OWN_WATERMARK = `
  SELECT not_after FROM ${WATERMARKS.name} WHERE project_id = ? AND user_id = ?`
const DELETE_WATERMARK = `DELETE FROM ${WATERMARKS.name} WHERE project_id = ? AND user_id = ?`

const LIST_WATERMARKS = `
  SELECT ${WATERMARKS.list} FROM ${WATERMARKS.name}
  WHERE project_id = ? AND user_id IN (?, ?) ORDER BY user_id`

function* listWatermarks({ project_id, user_id }: UserKey) {
  const pseudonym = pseudonymOf({ project_id, user_id })
  return (yield* all(LIST_WATERMARKS, project_id, user_id, pseudonym)).map(WATERMARKS.read)
}
