import { createManageClient, type ManageClient, TillError } from '../client/manage.ts'
import { forgetPlace, mayLeave } from './place.ts'

/** The entry of the tab's storage, which the browser forgets when the tab is closed. */
const SESSION = 'tillkit.session'

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
  if ('lost' in data && data.lost === session.accountKey) {
    sessionStorage.removeItem(SESSION)
    onRefusal()
  }
})

function ownSession(): Session | undefined {
  return JSON.parse(sessionStorage.getItem(SESSION) ?? 'null') ?? undefined
}

/** Milliseconds that a new tab waits for the answer of another one. */
const ANSWER_MS = 250

function askTabs(): Promise<Session | undefined> {
  return new Promise((resolve) => {
    tabs.addEventListener('message', ({ data }: MessageEvent<Message>) => {
      if ('session' in data) resolve(data.session)
    })
    setTimeout(resolve, ANSWER_MS)
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

/** The account that is signed in, also while another key of it is needed. */
let account = ''

function keep(session: Session, next: ManageClient): string {
  sessionStorage.setItem(SESSION, JSON.stringify(session))
  client = next
  account = session.account_id
  return account
}

/** The SKU maps of stores, which the browser keeps for the account until somebody signs out. */
export const remembered = {
  read: (store_id: string) => localStorage.getItem(mapKey(store_id)) ?? '',
  write: (store_id: string, map: string) => localStorage.setItem(mapKey(store_id), map),
}

const MAPS = 'tillkit.skus'
const mapKey = (store_id: string) => `${MAPS} ${account} ${store_id}`

/** Forgets the key in all tabs, and loads the page anew: nothing of the account stays in memory. */
export function signOut(): void {
  if (!mayLeave()) return
  forgetKey()
  for (const key of Object.keys(localStorage)) {
    if (key.startsWith(MAPS)) localStorage.removeItem(key)
  }
  forgetPlace()
  location.reload()
}

/** Asks for another key. The page stays, with what was typed. */
let onRefusal = () => {}

export function watchRefusal(notice: () => void): void {
  onRefusal = notice
}

/** Forgets the key in all tabs. */
function forgetKey(): void {
  const session = ownSession()
  if (session) tell({ lost: session.accountKey })
  sessionStorage.removeItem(SESSION)
}

/** Forgets the key if the server does not accept it any more, unless an earlier one was used. */
export function noticeRefusal(error: unknown, used: ManageClient): boolean {
  const isRefused = error instanceof TillError && error.code === 'account_key_required'
  if (isRefused && used === client) {
    forgetKey()
    onRefusal()
  }
  return isRefused
}
