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

export function storedSession(): Session | undefined {
  const key = sessionStorage.getItem(KEY)
  const account_id = sessionStorage.getItem(ACCOUNT)
  return key && account_id ? { account_id, client: clientFor(key) } : undefined
}

/** Signs in. Throws if the server does not accept the key. */
export async function signIn(accountKey: string): Promise<Session> {
  const client = clientFor(accountKey)
  const { account_id } = await client.account()
  sessionStorage.setItem(KEY, accountKey)
  sessionStorage.setItem(ACCOUNT, account_id)
  return { account_id, client }
}

function clientFor(accountKey: string): ManageClient {
  return createManageClient({ url, accountKey })
}

interface Watcher {
  onSignOut(): void
  onRefusal(): void
}

let watcher: Watcher = { onSignOut() {}, onRefusal() {} }

export function watchSession(next: Watcher): void {
  watcher = next
}

export function signOut(): void {
  sessionStorage.removeItem(KEY)
  sessionStorage.removeItem(ACCOUNT)
  watcher.onSignOut()
  forgetPlace()
}

/** Forgets the key if the server does not accept it any more. The page stays, with what was typed. */
export function noticeRefusal(error: unknown): boolean {
  const isRefused = error instanceof TillError && error.code === 'account_key_required'
  if (isRefused && sessionStorage.getItem(KEY)) {
    sessionStorage.removeItem(KEY)
    watcher.onRefusal()
  }
  return isRefused
}

const Client = createContext<ManageClient | undefined>(undefined)
export const ClientProvider = Client.Provider

export function useClient(): ManageClient {
  return useContext(Client) as ManageClient
}
