import { randomBytes } from 'node:crypto'
import { type Answer, type Call, type Credential, Mismatch, NotRun, type Send } from './client.ts'
import { type CredentialKind, endpointOf, variableOf } from './endpoints.ts'
import { type Fields, isObject, valueAt } from './shape.ts'

export interface Keys {
  readonly public_key: string
  readonly account_key: string
}

/** The server under test, with the records that checks need. Each is created at its first use. */
export type World = ReturnType<typeof createWorld>

/** Where endpoints 1 to 3 return their token. */
export const TOKENS: { readonly [endpoint: number]: readonly string[] } = {
  1: ['access_token'],
  2: ['session', 'token'],
  3: ['token'],
}

/** Keeps what a run has created, for later rows: tokens, records, and the secrets to hide. */
export function createWorld(send: Send, { public_key, account_key }: Keys) {
  /** The prefix of the names of all records of this run. */
  const prefix = `conformance_${Date.now().toString(36)}${randomBytes(3).toString('hex')}`
  /** The secrets of the run, each with the shell variable that stands for it. */
  const secrets = new Map([
    [account_key, '$ACCOUNT_KEY'],
    [public_key, '$PUBLIC_KEY'],
  ])
  let created = 0
  let hasChanges = false
  const unique = () => `${prefix}_${++created}`

  const credentialOf = async (kind: CredentialKind): Promise<Credential> => {
    const values = { accountKey: account_key, publicKey: public_key }
    const value = kind === 'token' ? await token() : values[kind]
    return { value, shown: variableOf(kind) }
  }
  /** Sends a request. Adds the valid credential of the endpoint unless `parts` has a credential. */
  const call = async (endpoint: number, parts: Call = {}): Promise<Answer> => {
    const { credential = await credentialOf(endpointOf(endpoint).credential) } = parts
    hasChanges ||= endpoint === 9 && Object.keys(parts.json ?? {}).length > 1
    return send(endpoint, { ...parts, credential })
  }

  const newSession = () => ({ public_key, user_id: unique() })
  const session = once(() => call(2, { json: newSession() }))
  const token = once(async () => {
    const sources = [session, () => call(1), () => call(3, { json: newSession() })]
    for (const [index, number] of [2, 1, 3].entries()) {
      const answer = await sources[index]?.().catch(ignoreNoAnswer)
      const found = valueAt(answer?.body, ...(TOKENS[number] ?? []))
      if (typeof found === 'string') return found
    }
    throw new NotRun('needs a token: endpoints 1, 2 and 3 return none')
  })
  const project = once(async () => need(await session(), 2, 'project', 'id'))
  /** The project before the run changes it. */
  const original = once(async () => {
    const { status, body } = await call(9, { json: { id: await project() } })
    const secret = valueAt(body, 'config', 'webhook_secret')
    if (typeof secret === 'string' && secret !== '') secrets.set(secret, '$WEBHOOK_SECRET')
    if (status <= 299 && isObject(body)) return body
    throw new NotRun(`needs the project: endpoint 9 answers ${status}`)
  })
  /** A new project has the platform of the stored one, which is valid in any case. */
  const newProject = async () => {
    const { account_id } = await original()
    if (typeof account_id !== 'string') {
      throw new NotRun('needs the account: endpoint 9 returns no account_id')
    }
    const found = valueAt((await session()).body, 'project', 'platform')
    const platform = typeof found === 'string' ? found : 'mobile'
    return { account_id, name: unique(), bundle_id: `conformance.${prefix}`, platform }
  }
  const newStore = async () => ({
    project_id: await project(),
    store_id: unique(),
    store_type: 'web',
  })
  const createStore = async (fields: Fields = {}) =>
    need(await call(10, { json: { ...(await newStore()), ...fields } }), 10, 'store_id')
  const store = once(() => createStore())
  const newItem = async () => ({
    store_id: await store(),
    name: unique(),
    display_name: 'Conformance',
    price: '499',
    type: 'consumable',
  })
  const createItem = async (fields: Fields = {}) => {
    const sent = { ...(await newItem()), ...fields }
    return { id: need(await call(4, { json: sent }), 4, 'id'), sent }
  }
  const item = once(() =>
    createItem({ description: 'An item', meta: { nested: { list: [1, 'two', { three: true }] } } }),
  )
  /** Records of a second project of the account. The token gives no access to them. */
  const foreign = once(async () => {
    const project_id = need(await call(8, { json: await newProject() }), 8, 'id')
    const store_id = await createStore({ project_id })
    return { project_id, store_id, item_id: (await createItem({ store_id })).id }
  })

  /** Undoes the changes of the project with `send`. Returns false if that failed. */
  const restore = async (send: Send): Promise<boolean> => {
    if (!hasChanges) return true
    try {
      const { id, name, platform, config } = await original()
      const credential = await credentialOf('token')
      const { status } = await send(9, { json: { id, name, platform, config }, credential })
      return status <= 299
    } catch {
      return false
    }
  }

  return {
    prefix,
    public_key,
    secrets,
    unique,
    call,
    restore,
    newSession,
    session,
    token,
    original,
    newProject,
    foreign,
    newStore,
    createStore,
    store,
    newItem,
    createItem,
    item,
    /** Returns the id of the project, after `original` has read it for `restore`. */
    async project() {
      await original()
      return project()
    },
  }
}

/** Runs `create` at the first call. Later calls get the same result, even if it is an error. */
function once<T>(create: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined
  return () => {
    result ??= create()
    return result
  }
}

/** The string at a path of an answer's body. Throws a NotRun when there is none. */
function need({ status, body }: Answer, endpoint: number, ...path: string[]): string {
  const found = valueAt(body, ...path)
  if (typeof found === 'string' && found !== '') return found
  throw new NotRun(`needs ${path.join('.')} of endpoint ${endpoint}, which answered ${status}`)
}

function ignoreNoAnswer(error: unknown): undefined {
  if (!(error instanceof Mismatch)) throw error
}
