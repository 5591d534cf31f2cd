import type { WriteOptions } from '../port.ts'
import * as write_ from '../sql/write.ts'
import type { Connection } from './connection.ts'
import { DIALECT, execute } from './sql.ts'

export function recordWrite(on: Connection, ...writes: readonly WriteOptions[]): Promise<void> {
  return execute(on, write_.recordWrite(DIALECT, ...writes))
}
