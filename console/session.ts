import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { createManageClient, type ManageClient, TillError } from '../client/manage.ts'
import { forgetPlace } from './place.ts'

/** The tab's storage: the browser forgets the account key when the tab is closed. */
const KEY = 'tillkit.account_key'
const ACCOUNT = 'tillkit.account_id'

/** The server's address: the console may be mounted under a prefix. */
const url = location.origin + location.pathname.replace(/\/console\/?$/, '')

export interface Session {
  readonly account_id: string
  readonly client: ManageClient
}

/** The client of the key that is signed in. */
let current: ManageClient | undefined

export function storedSession(): Session | undefined {
  const accountKey = sessionStorage.getItem(KEY)
  const account_id = sessionStorage.getItem(ACCOUNT)
  if (!accountKey || !account_id) return undefined
  current = createManageClient({ url, accountKey })
  return { account_id, client: current }
}

/** Signs in. Throws if the server does not accept the key. */
export async function signIn(accountKey: string): Promise<Session> {
  const client = createManageClient({ url, accountKey })
  const { account_id } = await client.account()
  sessionStorage.setItem(KEY, accountKey)
  sessionStorage.setItem(ACCOUNT, account_id)
  current = client
  return { account_id, client }
}

let watcher = { onSignOut() {}, onRefusal() {} }

export function watchSession(next: typeof watcher): void {
  watcher = next
}

export function signOut(): void {
  current = undefined
  sessionStorage.removeItem(KEY)
  sessionStorage.removeItem(ACCOUNT)
  watcher.onSignOut()
  forgetPlace()
}

/**
 * Forgets the key if the server does not accept it any more, unless the request was of an earlier
 * key. The page stays, with what was typed.
 */
export function noticeRefusal(error: unknown, client: ManageClient | undefined): boolean {
  const isRefused = error instanceof TillError && error.code === 'account_key_required'
  if (isRefused && client && client === current) {
    sessionStorage.removeItem(KEY)
    watcher.onRefusal()
  }
  return isRefused
}

const Client = createContext<ManageClient | undefined>(undefined)
export const ClientProvider = Client.Provider

/** The client of the session; undefined only on the sign-in page. */
export function useClient(): ManageClient {
  return useContext(Client) as ManageClient
}
