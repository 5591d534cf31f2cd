import { createManageClient, type ManageClient, TillError } from '../client/manage.ts'
import { forgetPlace, mayLeave } from './place.ts'

/** The tab's storage: the browser forgets the account key when the tab is closed. */
const KEY = 'tillkit.account_key'
const ACCOUNT = 'tillkit.account_id'

/** The server's address: the console may be mounted under a prefix. */
const url = location.origin + location.pathname.replace(/\/console\/?$/, '')

/** The client of the key that is signed in. Only the sign-in page is shown without one. */
export let client: ManageClient

/** Returns the account that is signed in already. */
export function restoreSession(): string | undefined {
  const accountKey = sessionStorage.getItem(KEY)
  const account_id = sessionStorage.getItem(ACCOUNT)
  if (!accountKey || !account_id) return undefined
  client = createManageClient({ url, accountKey })
  return account_id
}

/** Signs in, and returns the account. Throws if the server does not accept the key. */
export async function signIn(accountKey: string): Promise<string> {
  const next = createManageClient({ url, accountKey })
  const { account_id } = await next.account()
  sessionStorage.setItem(KEY, accountKey)
  sessionStorage.setItem(ACCOUNT, account_id)
  client = next
  return account_id
}

/** Forgets the key, and loads the page anew, so that nothing of the account stays in memory. */
export function signOut(): void {
  if (!mayLeave()) return
  sessionStorage.removeItem(KEY)
  sessionStorage.removeItem(ACCOUNT)
  forgetPlace()
  location.reload()
}

let onRefusal = () => {}

export function watchRefusal(notice: () => void): void {
  onRefusal = notice
}

/**
 * Forgets the key if the server does not accept it any more, unless the request was of an earlier
 * key. The page stays, with what was typed.
 */
export function noticeRefusal(error: unknown, used: ManageClient | undefined): boolean {
  const isRefused = error instanceof TillError && error.code === 'account_key_required'
  if (isRefused && used && used === client) {
    sessionStorage.removeItem(KEY)
    onRefusal()
  }
  return isRefused
}
