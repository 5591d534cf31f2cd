import type { Authority } from '../../domain/authority.ts'
import * as authority_ from '../sql/authority.ts'
import type { Connection } from './connection.ts'
import { DIALECT, execute } from './sql.ts'

export { lockOf } from '../sql/authority.ts'

export function verifyAuthority(on: Connection, authority: Authority | undefined): Promise<void> {
  return execute(on, authority_.verifyAuthority(DIALECT, authority))
}

export function lockAuthority(
  on: Connection,
  authority: Authority | undefined,
  ...changed: readonly string[]
): Promise<void> {
  return execute(on, authority_.lockAuthority(DIALECT, authority, ...changed))
}
