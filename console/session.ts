import { createManageClient, type ManageClient, TillError } from '../client/manage.ts'
import { forgetPlace, mayLeave } from './place.ts'

/** The tab's storage: the browser forgets the account key when the tab is closed. */
const KEY = 'tillkit.account_key'
const ACCOUNT = 'tillkit.account_id'

/** The server's address: the console may be mounted under a prefix. */
const url = location.origin + location.pathname.replace(/\/console\/?$/, '')

/** The client of the key that is signed in. Only the sign-in page is shown without one. */
export let client: ManageClient

/** When the server takes the next request, after one that it refused as too many. */
let allowedAt = 0

export const secondsToWait = () => Math.ceil((allowedAt - Date.now()) / 1000)

function createClient(accountKey: string): ManageClient {
  const onWait = (ms: number, { status }: TillError) => {
    if (status === 429) allowedAt = Date.now() + ms
  }
  return createManageClient({ url, accountKey, onWait })
}

interface Session {
  readonly accountKey: string
  readonly account_id: string
}

type Message = { readonly ask: true } | { readonly session: Session } | { readonly lost: string }

/** Connects the open tabs of this console. A new tab asks the others for their session. */
const tabs = new BroadcastChannel(`tillkit ${url}`)
const tell = (message: Message) => tabs.postMessage(message)

tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
  const session = ownSession()
  if (!session) return
  if ('ask' in data) tell({ session })
  if ('lost' in data && data.lost === session.accountKey) forgetKey()
})

function ownSession(): Session | undefined {
  const accountKey = sessionStorage.getItem(KEY)
  const account_id = sessionStorage.getItem(ACCOUNT)
  return accountKey && account_id ? { accountKey, account_id } : undefined
}

/** Milliseconds that a new tab waits for the answer of another one. */
const ANSWER_MS = 250

function askTabs(): Promise<Session | undefined> {
  return new Promise((resolve) => {
    const listen = ({ data }: MessageEvent<Message>) => {
      if ('session' in data) finish(data.session)
    }
    const finish = (session?: Session) => {
      tabs.removeEventListener('message', listen)
      resolve(session)
    }
    tabs.addEventListener('message', listen)
    setTimeout(finish, ANSWER_MS)
    tell({ ask: true })
  })
}

/** Returns the account that is signed in already, in this tab or another one; '' if none is. */
export async function restoreSession(): Promise<string> {
  const session = ownSession() ?? (await askTabs())
  if (!session) return ''
  return keep(session, createClient(session.accountKey))
}

/** Signs in, and returns the account. Throws if the server does not accept the key. */
export async function signIn(accountKey: string): Promise<string> {
  const next = createClient(accountKey)
  const { account_id } = await next.account()
  return keep({ accountKey, account_id }, next)
}

function keep({ accountKey, account_id }: Session, next: ManageClient): string {
  sessionStorage.setItem(KEY, accountKey)
  sessionStorage.setItem(ACCOUNT, account_id)
  client = next
  return account_id
}

/** The SKU maps of stores, which the browser keeps for the account until somebody signs out. */
export const remembered = {
  read: (store_id: string) => localStorage.getItem(mapKey(store_id)) ?? '',
  write: (store_id: string, map: string) => localStorage.setItem(mapKey(store_id), map),
}

const MAPS = 'tillkit.skus'
const mapKey = (store_id: string) => `${MAPS} ${sessionStorage.getItem(ACCOUNT)} ${store_id}`

/** Forgets the key in all tabs, and loads the page anew: nothing of the account stays in memory. */
export function signOut(): void {
  if (!mayLeave()) return
  const session = ownSession()
  if (session) tell({ lost: session.accountKey })
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(MAPS)) localStorage.removeItem(key)
  }
  sessionStorage.removeItem(KEY)
  sessionStorage.removeItem(ACCOUNT)
  forgetPlace()
  location.reload()
}

let onRefusal = () => {}

export function watchRefusal(notice: () => void): void {
  onRefusal = notice
}

/** Forgets the key. The page stays, with what was typed, until somebody signs in again. */
function forgetKey(): void {
  sessionStorage.removeItem(KEY)
  onRefusal()
}

/**
 * Forgets the key in all tabs if the server does not accept it any more, unless the request was of
 * an earlier key.
 */
export function noticeRefusal(error: unknown, used: ManageClient | undefined): boolean {
  const isRefused = error instanceof TillError && error.code === 'account_key_required'
  if (isRefused && used && used === client) {
    const session = ownSession()
    if (session) tell({ lost: session.accountKey })
    forgetKey()
  }
  return isRefused
}
