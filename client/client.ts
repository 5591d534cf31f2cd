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
export type Client = ReturnType<typeof createClient>

const PAGE = 100

/**
 * Creates a client. Throws a TypeError for a missing, wrong or unknown option.
 *
 * @example
 * const till = createClient({ url: 'https://shop.example', publicKey: 'pk_…', userId: 'player-1' })
 * const { items } = await till.items.list({ store_id: 'main' })
 */
export function createClient(options: ClientOptions) {
  const calls = createCalls(parseClientOptions(options))

  const list = async (query: ItemQuery, options?: CallOptions): Promise<ItemPage> => {
    const { body, link } = await calls.read<ItemPage>(pathOf('/items', query), options)
    const next = cursorOf(link)
    return { items: body.items, ...(next !== undefined && { next }) }
  }

  return {
    /** Calls with the public key. Other calls open a session when they need one. */
    sessions: {
      /** Opens a session of the user. Returns it with the project and its stores. */
      async init(options?: CallOptions): Promise<InitializedSession> {
        const requested = Date.now()
        const opened = await calls.open<InitializedSession>('init', options)
        calls.adopt(opened.session, requested)
        return opened
      },
      /** Opens a session of the user. */
      async token(options?: CallOptions): Promise<Session> {
        const requested = Date.now()
        const session = await calls.open<Session>('token', options)
        calls.adopt(session, requested)
        return session
      },
      /** Gets a token of the project, without a user. */
      accessToken: (options?: CallOptions) => calls.open<AccessToken>('access-token', options),
    },

    items: {
      /** Creates an item, with the account key. */
      create: async (item: NewItem, options?: CreateOptions) =>
        bodyOf<CreatedItem>(await calls.create('/items', item, options)),
      /** One page of the items of a store; without `limit`, all of them. */
      list,
      /** Iterates over the items of a store, and reads them page by page. */
      async *all(query: Omit<ItemQuery, 'cursor'>, options?: CallOptions): AsyncGenerator<Item> {
        let cursor: string | undefined
        do {
          const page = await list({ limit: PAGE, ...query, cursor }, options)
          yield* page.items
          cursor = page.next
        } while (cursor !== undefined)
      },
      /** Throws `item_not_found`. */
      async get(id: string, options?: CallOptions): Promise<Item> {
        return (await calls.read<Item>(`/items/${encodeURIComponent(id)}`, options)).body
      },
    },

    projects: {
      /** Creates a project, with the account key. */
      async create(project: NewProject, options?: CreateOptions): Promise<Project> {
        const answer = await calls.create('/projects', project, options)
        const { config, ...rest } = bodyOf<Omit<Project, 'public_key'>>(answer)
        return { ...rest, public_key: answer.header('x-public-project-key') ?? '', config }
      },
      async update(change: ProjectChange, options?: CallOptions): Promise<Project> {
        const request = { method: 'PUT', path: '/projects', headers: JSON_TYPE }
        const body = JSON.stringify(change)
        return bodyOf(await calls.send({ ...request, body, repeat: 'refused' }, options))
      },
    },

    stores: {
      /** Creates a store, with the account key. */
      create: async (store: NewStore, options?: CreateOptions) =>
        bodyOf<Store>(await calls.create('/stores', store, options)),
    },

    purchases: {
      /**
       * Imports all rows of a CSV file or none. Throws `invalid_purchases`, whose `details` name the
       * lines.
       */
      async import(file: PurchaseFile, options: CallOptions = {}): Promise<ImportResult> {
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
      /**
       * Lists what the user of the token owns in a store. Needs a token that your server got from
       * `till.sessions.issue`: with any other, throws `insufficient_scope`.
       */
      async owned(query: OwnedQuery, options?: CallOptions): Promise<OwnedPage> {
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
