import type { Account, AccountKey } from '../../domain/account.ts'
import type { AuditEntry } from '../../domain/audit.ts'
import type { Project } from '../../domain/project.ts'
import type { Page, RecordPage } from './page.ts'
import type { WriteOptions } from './write.ts'

export interface AccountMethods {
  /** Inserts an account with its first key, and with `project` also its first project. */
  insertAccount(account: Account, key: AccountKey, write?: AccountWrite): Promise<void>
  findAccount(account_id: string): Promise<Account | undefined>
  /** Finds the account of a key that is not revoked. The result contains the id of the key. */
  findAccountByKeyHash(hash: string): Promise<KeyedAccount | undefined>
  /** Lists all accounts in order of creation. */
  listAccounts(page: Page): Promise<RecordPage<Account>>
  insertAccountKey(key: AccountKey, write?: WriteOptions): Promise<void>
  /** Lists the keys of an account in order of creation, including revoked ones. */
  listAccountKeys(account_id: string, page: Page): Promise<RecordPage<AccountKey>>
  /** Revokes a key. Resolves to false if the account has no such key or it is already revoked. */
  revokeAccountKey(
    account_id: string,
    key_id: string,
    revoked_at: string,
    write?: WriteOptions,
  ): Promise<boolean>
}

/** The options of a new account. */
export interface AccountWrite extends WriteOptions {
  readonly project?: { readonly record: Project; readonly audit: AuditEntry }
}

export interface KeyedAccount extends Account {
  readonly key_id: string
}
