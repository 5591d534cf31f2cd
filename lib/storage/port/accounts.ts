import type { Account } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Project } from '../../domain/project.ts'
import type { WriteOptions } from './write.ts'

/** The options of a new account. */
export interface AccountWrite extends WriteOptions {
  readonly project?: { readonly record: Project; readonly audit: AuditEntry }
}

/** The day (UTC) of the latest use of an account key. */
export interface KeyUse {
  readonly key_id: string
  readonly last_used_on: string
}

export interface KeyedAccount extends Account {
  readonly key_id: string
}
