import type { Account } from '../../domain/account.ts'
import type { KEY_USES } from '../sql/tables.ts'

export type KeyUse = ReturnType<typeof KEY_USES.read>

export interface KeyedAccount extends Account {
  readonly key_id: string
}
