import { createCalls } from './calls.ts'
import { bodyOf } from './errors.ts'
import { JSON_TYPE } from './message.ts'
import {
  type CallOptions,
  type ClientOptions,
  type CreateOptions,
  parseClientOptions,
} from './options.ts'
import { LONG_TIMEOUT } from './retry.ts'
import type {
  AccessToken,
  CreatedItem,
  ImportResult,
  InitializedSession,
  Item,
  ItemPage,
  ItemQuery,
  NewItem,
  NewProject,
  NewStore,
  OwnedPage,
  OwnedQuery,
  Project,
  ProjectChange,
  PurchaseFile,
  Session,
  Store,
} from './types.ts'
import { createUpload } from './upload.ts'

/** A client of one server. Every call rejects with a TillError when it fails. */
export interface Client {
  /** Calls with the public key. Other calls open a session when they need one. */
  readonly sessions: {
    /** Opens a session of the user. Returns it with the project and its stores. */
    init(options?: CallOptions): Promise<InitializedSession>
    /** Opens a session of the user. */
    token(options?: CallOptions): Promise<Session>
    /** Gets a token of the project, without a user. */
    accessToken(options?: CallOptions): Promise<AccessToken>
  }
  readonly items: {
    /** Creates an item, with the account key. */
    create(item: NewItem, options?: CreateOptions): Promise<CreatedItem>
    /** One page of the items of a store; without `limit`, all of them. */
    list(query: ItemQuery, options?: CallOptions): Promise<ItemPage>
    /** Iterates over the items of a store, and reads them page by page. */
    all(query: Omit<ItemQuery, 'cursor'>, options?: CallOptions): AsyncGenerator<Item>
    /** Throws `item_not_found`. */
    get(id: string, options?: CallOptions): Promise<Item>
  }
  readonly projects: {
    /** Creates a project, with the account key. */
    create(project: NewProject, options?: CreateOptions): Promise<Project>
    update(change: ProjectChange, options?: CallOptions): Promise<Project>
  }
  readonly stores: {
    /** Creates a store, with the account key. */
    create(store: NewStore, options?: CreateOptions): Promise<Store>
  }
  readonly purchases: {
    /**
     * Imports all rows of a CSV file or none. Throws `invalid_purchases`, whose `details` name the
     * lines.
     */
    import(file: PurchaseFile, options?: CallOptions): Promise<ImportResult>
    /**
     * Lists what the user of the token owns in a store. Needs a token that your server got from
     * `till.sessions.issue`: with any other, throws `insufficient_scope`.
     */
    owned(query: OwnedQuery, options?: CallOptions): Promise<OwnedPage>
  }
}

const PAGE = 100

/**
 * Creates a client. Throws a TypeError for a missing, wrong or unknown option.
 *
 * @example
 * const till = createClient({ url: 'https://shop.example', publicKey: 'pk_…', userId: 'player-1' })
 * const { items } = await till.items.list({ store_id: 'main' })
 */
export function createClient(options: ClientOptions): Client {
  const calls = createCalls(parseClientOptions(options))

  const list = async (query: ItemQuery, options?: CallOptions): Promise<ItemPage> => {
    const { body, link } = await calls.read<ItemPage>(pathOf('/items', query), options)
    const next = cursorOf(link)
    return { items: body.items, ...(next !== undefined && { next }) }
  }

  return {
    sessions: {
      async init(options) {
        const requested = Date.now()
        const opened = await calls.open<InitializedSession>('init', options)
        calls.adopt(opened.session, requested)
        return opened
      },

      async token(options) {
        const requested = Date.now()
        const session = await calls.open<Session>('token', options)
        calls.adopt(session, requested)
        return session
      },

      accessToken: (options) => calls.open<AccessToken>('access-token', options),
    },

    items: {
      create: async (item, options) => bodyOf(await calls.create('/items', item, options)),
      list,

      async *all(query, options) {
        let cursor: string | undefined
        do {
          const page = await list({ limit: PAGE, ...query, cursor }, options)
          yield* page.items
          cursor = page.next
        } while (cursor !== undefined)
      },

      async get(id, options) {
        return (await calls.read<Item>(`/items/${encodeURIComponent(id)}`, options)).body
      },
    },

    projects: {
      async create(project, options) {
        const answer = await calls.create('/projects', project, options)
        const { config, ...rest } = bodyOf<Omit<Project, 'public_key'>>(answer)
        return { ...rest, public_key: answer.header('x-public-project-key') ?? '', config }
      },

      async update(change, options) {
        const request = { method: 'PUT', path: '/projects', headers: JSON_TYPE }
        const body = JSON.stringify(change)
        return bodyOf(await calls.send({ ...request, body, repeat: 'refused' }, options))
      },
    },

    stores: {
      create: async (store, options) => bodyOf(await calls.create('/stores', store, options)),
    },

    purchases: {
      async import(file, options = {}) {
        const { timeout = LONG_TIMEOUT } = options
        const answer = await calls.send(createUpload(file), { ...options, timeout })
        bodyOf(answer)
        const count = (name: string) => Number(answer.header(`import-${name}`))
        return {
          import_id: answer.header('import-id') ?? '',
          rows: count('rows'),
          skipped: count('skipped'),
          updated: count('updated'),
          passed_over: count('passed-over'),
        }
      },
      async owned(query, options) {
        const request = { method: 'GET', path: pathOf('/purchases/owned', query), headers: {} }
        return bodyOf(await calls.send({ ...request, repeat: 'always' }, options))
      },
    },
  }
}

function pathOf(path: string, query: object): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return `${path}?${new URLSearchParams(given)}`
}

/** The cursor of the `Link` header (RFC 8288). The rest of the URL may belong to a proxy. */
function cursorOf(link: string | null): string | undefined {
  const target = link && /<([^>]*)>; *rel="?next\b/.exec(link)?.[1]
  if (!target) return undefined
  return new URLSearchParams(target.replace(/^[^?]*/, '')).get('cursor') ?? undefined
}
