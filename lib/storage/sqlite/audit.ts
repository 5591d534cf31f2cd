import type { WriteOptions } from '../port.ts'
import * as write_ from '../sql/write.ts'
import type { Connection } from './connection.ts'
import { DIALECT, execute } from './sql.ts'

export function recordWrite(db: Connection, ...writes: readonly WriteOptions[]): void {
  execute(db, write_.recordWrite(DIALECT, ...writes))
}
