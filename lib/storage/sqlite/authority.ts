import type { Authority } from '../../domain/authority.ts'
import * as authority_ from '../sql/authority.ts'
import type { Connection } from './connection.ts'
import { DIALECT, execute } from './sql.ts'

export function verifyAuthority(db: Connection, authority: Authority | undefined): void {
  execute(db, authority_.verifyAuthority(DIALECT, authority))
}
