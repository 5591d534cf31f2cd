import type { Account } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Project } from '../../domain/project.ts'
import type { KEY_USES } from '../tables.ts'
import type { WriteOptions } from './write.ts'

/** The options of a new account. */
export interface AccountWrite extends WriteOptions {
  readonly project?: { readonly record: Project; readonly audit: AuditEntry }
}

export type KeyUse = ReturnType<typeof KEY_USES.read>

export interface KeyedAccount extends Account {
  readonly key_id: string
}
