import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { createManageClient, type ManageClient, TillError } from '../client/manage.ts'

/** The tab's storage: the browser forgets the account key when the tab is closed. */
const KEY = 'tillkit.account_key'

/** The server's address: the console may be mounted under a prefix. */
const url = location.origin + location.pathname.replace(/\/console\/?$/, '')

export function storedKey(): string | null {
  return sessionStorage.getItem(KEY)
}

export function storeKey(accountKey: string): void {
  sessionStorage.setItem(KEY, accountKey)
}

export function clientFor(accountKey: string): ManageClient {
  return createManageClient({ url, accountKey })
}

type SignedOut = (reason: string) => void
let onSignedOut: SignedOut = () => {}

export function watchSignOut(watcher: SignedOut): void {
  onSignedOut = watcher
}

export function signOut(reason = ''): void {
  sessionStorage.removeItem(KEY)
  onSignedOut(reason)
}

/** Signs out if the server does not accept the key any more. */
export function noticeRefusal(error: unknown): void {
  if (error instanceof TillError && error.code === 'account_key_required' && storedKey()) {
    signOut('The account key is not valid any more. It may have been revoked.')
  }
}

const Client = createContext<ManageClient | undefined>(undefined)
export const ClientProvider = Client.Provider

export function useClient(): ManageClient {
  return useContext(Client) as ManageClient
}
