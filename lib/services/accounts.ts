import { type Account, parseNewAccount } from '../domain/account.ts'
import { formatInstant } from '../domain/instant.ts'
import { TillError } from '../errors.ts'
import type { Context } from './context.ts'
import { createAccountKey, createId, hashAccountKey } from './ids.ts'

export interface Accounts {
  /** Makes an account. `account_key` is shown here once and can not be had again. */
  create(input: unknown): Promise<Account & { readonly account_key: string }>
  /** The account that a key belongs to; `account_key_required` when it belongs to none. */
  authenticate(account_key: string | undefined): Promise<Account>
  /** Throws `account_not_found`. */
  get(account_id: string): Promise<Account>
  /** The account of a project, for operators who name the project alone. Throws `project_not_found`. */
  ownerOf(project_id: string): Promise<Account>
  list(): Promise<Account[]>
}

export function createAccounts({ storage, now }: Context): Accounts {
  return {
    async create(input) {
      const { name } = parseNewAccount(input)
      const created_at = formatInstant(now())
      const account = { account_id: createId('acc', now()), name, created_at }
      const account_key = createAccountKey()
      await storage.insertAccount(account, {
        key_id: createId('key', now()),
        account_id: account.account_id,
        hash: hashAccountKey(account_key),
        created_at,
      })
      return { ...account, account_key }
    },

    async authenticate(account_key) {
      const account =
        account_key && (await storage.findAccountByKeyHash(hashAccountKey(account_key)))
      if (account) return account
      throw new TillError('account_key_required', 'The account key is missing or unknown')
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

    async list() {
      return storage.listAccounts()
    },
  }
}
