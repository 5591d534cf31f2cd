import type { Account, AccountKey } from '../../domain/account.ts'
import { invalidField } from '../../domain/fields.ts'
import type { TillError } from '../../errors.ts'
import { lockAuthority, lockOf, lockRows, verifyAuthority } from './authority.ts'
import { optional, pick, type Row, table, text } from './columns.ts'
import type { Sql } from './dialect.ts'
import { findRecord, listBySeq, pageOf } from './pages.ts'
import { all, insert, run } from './program.ts'
import { assertQuota } from './quota.ts'
import type { KeyChange, KeyedAccount, KeyUse, Page, WriteOptions } from './records.ts'
import { ACCOUNT_KEYS, ACCOUNTS, KEY_USES } from './tables.ts'
import { recordWrite } from './write.ts'

export function accountMethods(sql: Sql) {
  const { read, write } = sql
  return {
    findAccount: (id: string) => read(findRecord<Account>(ACCOUNTS.read, FIND_ACCOUNT, id)),
    /** Finds the account of a key that is not revoked. The result contains the id of the key. */
    findAccountByKeyHash: (hash: string) =>
      read(findRecord(keyedAccount, FIND_ACCOUNT_BY_KEY, hash)),
    /** Lists all accounts in order of creation. */
    listAccounts: (page: Page) => read(listBySeq(ACCOUNTS, PAGE_OF_ACCOUNTS, page)),
    /** Lists the keys of an account in order of creation, including revoked ones. */
    listAccountKeys: (id: string, page: Page) =>
      read(listBySeq(LISTED_KEYS, PAGE_OF_KEYS, page, id)),
    /**
     * Inserts an account with its first key. With `ifMissing`, inserts none if an account has the
     * name, and resolves to the oldest of these. Concurrent calls wait for each other.
     */
    insertAccount: (
      account: Account,
      key: AccountKey,
      options: WriteOptions & { readonly ifMissing?: boolean } = {},
    ) =>
      write(function* () {
        yield* verifyAuthority(sql, options.authority)
        if (options.ifMissing) {
          yield* sql.lockTable('accounts', 'EXCLUSIVE')
          const found = yield* findRecord<Account>(ACCOUNTS.read, FIND_NAMED, account.name)
          if (found) return found
        }
        yield* insert(ACCOUNTS, account)
        yield* insert(ACCOUNT_KEYS, key)
        yield* recordWrite(sql, options)
        return account
      }),
    /**
     * Inserts a key. Deletes some of the oldest revoked keys if the account has more of them than
     * its quota of keys.
     */
    insertAccountKey: (key: AccountKey, options: WriteOptions = {}) =>
      write(function* () {
        const { authority, quota } = options
        yield* verifyAuthority(sql, authority)
        yield* lockRows(sql, LOCK_ACCOUNT, key.account_id) // concurrent calls count each other's key
        yield* insert(ACCOUNT_KEYS, key)
        if (quota?.keys !== undefined) {
          const excess = yield* all(FIND_EXCESS, key.account_id, quota.keys)
          for (const { key_id } of excess) {
            yield* run('DELETE FROM key_uses WHERE key_id = ?', key_id as string)
            yield* run('DELETE FROM account_keys WHERE key_id = ?', key_id as string)
          }
        }
        yield* assertQuota(quota)
        yield* recordWrite(sql, options)
      }, key),
    /**
     * Revokes, renames or limits a key. Resolves to the changed key; to undefined if the account has
     * no such key or it is revoked. Throws if a key of the account would leave none with `admin`.
     */
    updateAccountKey: (
      account_id: string,
      key_id: string,
      change: KeyChange,
      options: WriteOptions = {},
    ) =>
      write(
        function* () {
          // Locks both keys in the order of their ids, because two keys may change each other at the
          // same time. Otherwise these two transactions could deadlock.
          const acting = options.authority?.key_id ?? key_id
          yield* lockAuthority(sql, undefined, lockOf.key(key_id), lockOf.key(acting))
          yield* lockRows(sql, FIND_KEYS, key_id, acting)
          yield* verifyAuthority(sql, options.authority)
          const current = yield* findRecord(LISTED_KEYS.read, FIND_VALID_KEY, account_id, key_id)
          if (!current) return undefined
          const changed = { ...current, ...change }
          // The operator may: it can always add a key.
          if (options.authority && isAdmin(current) && !isAdmin(changed)) {
            yield* lockRows(sql, LOCK_ACCOUNT, account_id) // concurrent calls count each other's key
            const others = yield* all(FIND_OTHER_KEYS, account_id, key_id)
            if (!others.some((row) => isAdmin(ACCOUNT_KEYS.read(row)))) throw lastAdmin()
          }
          yield* run(UPDATE_KEY, ...ACCOUNT_KEYS.values(changed), key_id)
          yield* recordWrite(sql, options)
          return changed
        },
        { account_id },
      ),
    /** Notes the day of a key's latest use. Changes nothing if that day is stored already. */
    noteKeyUse: ({ key_id, last_used_on }: KeyUse) =>
      write(() => run(NOTE_KEY_USE, key_id, last_used_on)),
  }
}

const FIND_ACCOUNT = `SELECT ${ACCOUNTS.list} FROM accounts WHERE account_id = ?`
const FIND_NAMED = `SELECT ${ACCOUNTS.list} FROM accounts WHERE name = ? ORDER BY seq LIMIT 1`
const FIND_ACCOUNT_BY_KEY = `
  SELECT a.*, k.key_id, k.scopes FROM account_keys k JOIN accounts a ON a.account_id = k.account_id
  WHERE k.hash = ? AND k.revoked_at IS NULL`
const PAGE_OF_ACCOUNTS = pageOf(ACCOUNTS)
const LAST_USE = '(SELECT u.last_used_on FROM key_uses u WHERE u.key_id = account_keys.key_id)'
const LISTED_KEYS = table<AccountKey>('account_keys', {
  ...ACCOUNT_KEYS.columns,
  last_used_on: optional(text()),
})
const KEY_LIST = `${ACCOUNT_KEYS.list}, ${LAST_USE} AS last_used_on`
const PAGE_OF_KEYS = pageOf({ name: 'account_keys', list: KEY_LIST }, 'account_id')
const NOTE_KEY_USE = `
  ${KEY_USES.insertion} ON CONFLICT (key_id) DO UPDATE SET last_used_on = excluded.last_used_on
  WHERE key_uses.last_used_on < excluded.last_used_on`
const LOCK_ACCOUNT = 'SELECT 1 FROM accounts WHERE account_id = ?'
/** Two keys for each new one: also the excess after a quota was lowered becomes less. */
const FIND_EXCESS = `
  SELECT key_id FROM account_keys WHERE account_id = ? AND revoked_at IS NOT NULL
  ORDER BY seq DESC LIMIT 2 OFFSET ?`
const FIND_KEYS = 'SELECT 1 FROM account_keys WHERE key_id IN (?, ?) ORDER BY key_id'
const FIND_VALID_KEY = `
  SELECT ${KEY_LIST} FROM account_keys
  WHERE account_id = ? AND key_id = ? AND revoked_at IS NULL`
const FIND_OTHER_KEYS = `
  SELECT ${ACCOUNT_KEYS.list} FROM account_keys
  WHERE account_id = ? AND key_id <> ? AND revoked_at IS NULL`
const UPDATE_KEY = ACCOUNT_KEYS.updateWhere('key_id = ?')

const KEY_OF_ACCOUNT = pick(ACCOUNT_KEYS, 'key_id', 'scopes')

function isAdmin({ scopes, revoked_at }: AccountKey): boolean {
  return revoked_at === undefined && (scopes?.includes('admin') ?? true)
}

function lastAdmin(): TillError {
  const message = 'is the last key of the account with the scope admin: add another first'
  return invalidField('key_id', 'last_admin', message)
}

function keyedAccount(row: Row): KeyedAccount {
  return KEY_OF_ACCOUNT.readInto(ACCOUNTS.read(row), row)
}
