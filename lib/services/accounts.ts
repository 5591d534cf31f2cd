import {
  type Account,
  type AccountKey,
  type AccountKeyChange,
  KEY_SCOPES,
  type KeyScope,
  keyChangeFields,
  type NewAccount,
  type NewAccountKey,
  newKeyFields,
  parseAccountName,
  parseNewAccount,
} from '../domain/account.ts'
import type { AuditAction } from '../domain/audit.ts'
import { assertKeyScopes, keyRequired } from '../domain/authority.ts'
import { parseObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Project } from '../domain/project.ts'
import {
  type ListPage,
  type ListQuery,
  listFields,
  pageFor,
  type RecentAuditQuery,
  recentAuditFields,
} from '../domain/query.ts'
import { TillError } from '../errors.ts'
import { type AuditPage, type KeyedAccount, listAll } from '../storage/port.ts'
import { assertAccount, authorityOf, verified } from './access.ts'
import { auditedWrite, type CallOptions } from './audit.ts'
import type { Context } from './context.ts'
import { createAccountKey, createId, hashText } from './ids.ts'
import { createProjects } from './projects.ts'

export interface Accounts {
  /**
   * Creates an account with its first key, then its first `project` if the input has one. Only this
   * call returns the `account_key`.
   */
  create(input: NewAccount, options?: CallOptions): Promise<CreatedAccount>
  /**
   * Creates an account with its first key, unless one has this name. Resolves to the oldest account
   * of the name; only the call that created it gets the `account_key`. Other processes may call it
   * at the same time.
   */
  createIfMissing(
    input: Pick<NewAccount, 'name'>,
    options?: CallOptions,
  ): Promise<Account | CreatedAccount>
  /**
   * Finds the account of a key, with the `scopes` of the key. Throws `account_key_required` for a
   * missing or unknown key, and `insufficient_scope` if the key lacks `scope`. With `isForWrite`,
   * accepts a key that another server may have revoked a moment ago. Use it only for a write,
   * because a write verifies the key again in its transaction.
   */
  authenticate(account_key: string | undefined, options?: KeyOptions): Promise<KeyedAccount>
  /** Finds an account. Throws `account_not_found` if there is none. */
  get(account_id: string): Promise<Account>
  /** Finds the account that owns a project, for operators. Throws `project_not_found`. */
  ownerOf(project_id: string): Promise<Account>
  /** Reads one page of all accounts, in order of creation. */
  list(query?: ListQuery): Promise<AccountPage>
  /** Iterates over all accounts, and reads them page by page. */
  all(): AsyncIterable<Account>
  /**
   * Adds a key to the account. Only this call returns the `account_key`. Throws `quota_exceeded`
   * for too many keys, and `insufficient_scope` if the caller's key lacks a scope of the new key.
   */
  addKey(
    account: Account,
    options?: NewAccountKey & CallOptions,
  ): Promise<AccountKeyInfo & { readonly account_key: string }>
  /** Lists all keys of the account in order of creation, even revoked ones, without secrets. */
  listKeys(account: Account): Promise<AccountKeyInfo[]>
  /** Reads one page of the keys that `listKeys` returns. */
  pageOfKeys(account: Account, query?: ListQuery): Promise<AccountKeyPage>
  /**
   * Reads one page of the account's audit log, newest entries first. A page with a filter examines
   * 10,000 entries at most. It may then have fewer than `limit`, or none, and still a `next`.
   */
  listAudit(account: Account, query?: RecentAuditQuery): Promise<AuditPage>
  /**
   * Changes the name or the scopes of a key at once. Throws `account_key_not_found` for an unknown or
   * revoked key, and `insufficient_scope` if the caller's key lacks one of the new scopes. A key
   * cannot take `admin` from the last key that has it: `invalid_request`.
   */
  updateKey(
    account: Account,
    change: AccountKeyChange,
    options?: CallOptions,
  ): Promise<AccountKeyInfo>
  /**
   * Revokes a key at once. Throws `account_key_not_found` if the account has no such key. A key
   * cannot revoke the last key with `admin`: `invalid_request`. The operator can.
   */
  revokeKey(account: Account, key_id: string, options?: CallOptions): Promise<void>
}

export interface KeyOptions {
  readonly isForWrite?: boolean | undefined
  readonly scope?: KeyScope | undefined
}

export interface CreatedAccount extends Account {
  readonly account_key: string
  readonly key_id: string
  /** The first project, with its `public_key`. */
  readonly project?: Project
}

export interface AccountPage extends ListPage {
  readonly accounts: readonly Account[]
}

export interface AccountKeyPage extends ListPage {
  readonly keys: readonly AccountKeyInfo[]
}

/** An account key without its secret. */
export type AccountKeyInfo = Omit<AccountKey, 'hash'>

export function createAccounts(context: Context): Accounts {
  const { storage, now, platforms, keyUses, quotas } = context

  const newKey = (account_id: string) => {
    const account_key = createAccountKey()
    const key_id = createId('key', now())
    const hash = hashText(account_key)
    return { account_key, key: { key_id, account_id, hash, created_at: formatInstant(now()) } }
  }

  /** Inserts an account with its first key. With `ifMissing`, may resolve to a stored account. */
  const insertAccount = async (name: string, options?: CallOptions, ifMissing = false) => {
    const account = { account_id: createId('acc', now()), name, created_at: formatInstant(now()) }
    const { account_key, key } = newKey(account.account_id)
    const write = auditedWrite(context, account, 'account.create', account.account_id, options)
    const first = { ...key, name: 'First key' }
    const stored = await storage.insertAccount(account, first, { ...write, ifMissing })
    return { stored, created: { ...account, account_key, key_id: key.key_id } }
  }

  /** A key sets only scopes that it has. The transaction of the write verifies this too. */
  const keyWrite = (
    account: Account,
    action: AuditAction,
    { key_id, scopes }: Pick<AccountKey, 'key_id' | 'scopes'>,
    needed: readonly KeyScope[],
    options: CallOptions | undefined,
  ) => {
    for (const scope of needed) assertAccount(account, scope)
    const about = { subject: key_id, ...(scopes && { data: { scopes } }) }
    const write = auditedWrite(context, account, action, about, options)
    return { ...write, authority: authorityOf(account, ['admin', ...needed]) }
  }

  const accounts: Accounts = {
    async create(input, options) {
      const { name, project: first } = parseNewAccount(input, platforms)
      const { stored, created } = await insertAccount(name, options)
      const project = first && (await createProjects(context).create(stored, first, options))
      return { ...created, ...(project && { project }) }
    },

    async createIfMissing(input, options) {
      const { name } = parseAccountName(input)
      const { stored, created } = await insertAccount(name, options, true)
      return stored.account_id === created.account_id ? created : stored
    },

    async authenticate(account_key, { isForWrite = false, scope } = {}) {
      if (!account_key) throw keyRequired()
      const hash = hashText(account_key)
      const known = isForWrite ? await storage.stale.findAccountByKeyHash(hash) : undefined
      // Another server may have just given the scope to a known key.
      const isEnough = scope === undefined || (known?.scopes?.includes(scope) ?? true)
      const account = (isEnough && known) || (await storage.findAccountByKeyHash(hash))
      if (!account) throw keyRequired()
      keyUses.note(account.key_id)
      if (scope !== undefined) assertKeyScopes(account, [scope])
      return account
    },

    async get(account_id) {
      const account = await storage.findAccount(account_id)
      if (account) return account
      throw new TillError('account_not_found', 'No account has this account_id')
    },

    async ownerOf(project_id) {
      const project = await storage.findProject(project_id)
      const account = project && (await storage.findAccount(project.account_id))
      if (account) return account
      throw new TillError('project_not_found', 'No project has this id')
    },

    async list(query = {}) {
      const page = pageFor(parseObject(query, listFields))
      const { records: accounts, ...next } = await storage.listAccounts(page)
      return { accounts, ...next }
    },

    all: () => listAll((page) => accounts.list(page), 'accounts'),

    async addKey(account, { name, scopes, ...options } = {}) {
      assertAccount(account, 'admin')
      const { account_key, key: unnamed } = newKey(account.account_id)
      // All scopes of a limited key are a list: a later version may have more.
      const all = 'scopes' in account && account.scopes ? KEY_SCOPES : undefined
      const given = { name, scopes: scopes ?? all }
      const key = { ...unnamed, ...parseObject(given, newKeyFields) }
      const write = keyWrite(account, 'account_key.add', key, key.scopes ?? KEY_SCOPES, options)
      const quota = { account_id: account.account_id, keys: quotas.keys }
      await storage.insertAccountKey(key, { ...write, quota })
      return { ...withoutHash(key), account_key }
    },

    async listKeys(account) {
      assertAccount(account, 'admin')
      const keys: AccountKeyInfo[] = []
      const all = listAll(
        verified(context, account, 'admin', (page) => accounts.pageOfKeys(account, page)),
        'keys',
      )
      for await (const key of all) keys.push(key)
      return keys
    },

    async pageOfKeys(account, query = {}) {
      assertAccount(account, 'admin')
      const page = pageFor(parseObject(query, listFields))
      const { records, ...next } = await storage.listAccountKeys(account.account_id, page)
      return { keys: records.map(withoutHash), ...next }
    },

    async listAudit(account, query = {}) {
      assertAccount(account, 'admin')
      const { limit, cursor, ...filter } = parseObject(query, recentAuditFields)
      return storage.listRecentAudit(account.account_id, filter, pageFor({ limit, cursor }))
    },

    async updateKey(account, input, options) {
      assertAccount(account, 'admin')
      const { key_id, ...change } = parseObject(input, keyChangeFields)
      const about = { key_id, ...change }
      const write = keyWrite(account, 'account_key.update', about, change.scopes ?? [], options)
      const changed = await storage.updateAccountKey(account.account_id, key_id, change, write)
      if (!changed) throw unknownKey()
      return withoutHash(changed)
    },

    async revokeKey(account, key_id, options) {
      assertAccount(account, 'admin')
      const { account_id } = account
      const write = auditedWrite(context, account, 'account_key.revoke', key_id, options)
      const change = { revoked_at: formatInstant(now()) }
      if (await storage.updateAccountKey(account_id, key_id, change, write)) return
      throw unknownKey()
    },
  }
  return accounts
}

function unknownKey(): TillError {
  const message = 'The account has no key with this key_id that is not revoked'
  return new TillError('account_key_not_found', message)
}

function withoutHash({ hash: _, ...info }: AccountKey): AccountKeyInfo {
  return info
}
