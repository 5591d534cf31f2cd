import { TillError } from '../errors.ts'
import type { KeyCheck } from './records.ts'

export const FIND_KEY_CHECK = 'SELECT value FROM key_check'
export const INSERT_KEY_CHECK =
  'INSERT INTO key_check (id, value) VALUES (1, ?) ON CONFLICT (id) DO NOTHING'
export const DELETE_KEY_CHECK = 'DELETE FROM key_check'

/** Throws `master_key_mismatch` unless a key of the writer has the stored check value. */
export function assertKeyCheck(stored: unknown, { values }: KeyCheck): void {
  if (stored === undefined || values.includes(stored as string)) return
  const problem = values.length === 0 ? 'is not set' : 'is another key'
  throw new TillError(
    'master_key_mismatch',
    `This database stores secrets only with its master key, and TILLKIT_MASTER_KEY ${problem}`,
  )
}
