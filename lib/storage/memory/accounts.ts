import type { AccountMethods } from '../port.ts'
import { pageOf } from './pages.ts'
import type { State } from './state.ts'

export function accountMethods(state: State): AccountMethods {
  const { accounts, accountKeys, verify, recordWrite } = state
  return {
    async insertAccount(account, key, write = {}) {
      verify(write.authority)
      accounts.set(account.account_id, structuredClone(account))
      accountKeys.set(key.key_id, structuredClone(key))
      recordWrite(write)
    },
    async findAccount(account_id) {
      return structuredClone(accounts.get(account_id))
    },
    async findAccountByKeyHash(hash) {
      const key = [...accountKeys.values()].find((each) => each.hash === hash && !each.revoked_at)
      const account = key && accounts.get(key.account_id)
      return account && { ...account, key_id: key.key_id }
    },
    async listAccounts(page) {
      return pageOf([...accounts.values()], page)
    },
    async insertAccountKey(key, write = {}) {
      verify(write.authority)
      accountKeys.set(key.key_id, structuredClone(key))
      recordWrite(write)
    },
    async listAccountKeys(account_id, page) {
      const found = [...accountKeys.values()].filter((each) => each.account_id === account_id)
      return pageOf(found, page)
    },
    async revokeAccountKey(account_id, key_id, revoked_at, write = {}) {
      verify(write.authority)
      const key = accountKeys.get(key_id)
      if (key?.account_id !== account_id || key.revoked_at) return false
      accountKeys.set(key_id, { ...key, revoked_at })
      recordWrite(write)
      return true
    },
  }
}
