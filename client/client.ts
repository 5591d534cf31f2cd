import { createCalls } from './calls.ts'
import { bodyOf } from './errors.ts'
import { JSON_TYPE, withQuery } from './message.ts'
import {
  type CallOptions,
  type ClientOptions,
  type CreateOptions,
  parseClientOptions,
} from './options.ts'
import { LONG_TIMEOUT } from './retry.ts'
import type * as api from './types.ts'
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

  const list = async (query: api.ItemQuery, options?: CallOptions): Promise<api.ItemPage> => {
    const { body, link } = await calls.read<api.ItemPage>(withQuery('/items', query), options)
    const next = cursorOf(link)
    return { items: body.items, ...(next !== undefined && { next }) }
  }

  return {
    /** Calls with the public key. Other calls open a session when they need one. */
    sessions: {
      /** Opens a session of the user. Returns it with the project and its stores. */
      async init(options?: CallOptions): Promise<api.InitializedSession> {
        const requested = Date.now()
        const opened = await calls.open<api.InitializedSession>('init', options)
        calls.adopt(opened.session, requested)
        return opened
      },
      /** Opens a session of the user. */
      async token(options?: CallOptions): Promise<api.Session> {
        const requested = Date.now()
        const session = await calls.open<api.Session>('token', options)
        calls.adopt(session, requested)
        return session
      },
      /** Gets a token of the project, without a user. */
      accessToken: (options?: CallOptions) => calls.open<api.AccessToken>('access-token', options),
    },

    items: {
      /** Creates an item, with the account key. */
      create: async (item: api.NewItem, options?: CreateOptions) =>
        bodyOf<api.CreatedItem>(await calls.create('/items', item, options)),
      /** One page of the items of a store; without `limit`, all of them. */
      list,
      /** Iterates over the items of a store, and reads them page by page. */
      async *all(
        query: Omit<api.ItemQuery, 'cursor'>,
        options?: CallOptions,
      ): AsyncGenerator<api.Item> {
        let cursor: string | undefined
        do {
          const page = await list({ limit: PAGE, ...query, cursor }, options)
          yield* page.items
          cursor = page.next
        } while (cursor !== undefined)
      },
      /** Throws `item_not_found`. */
      async get(id: string, options?: CallOptions): Promise<api.Item> {
        return (await calls.read<api.Item>(`/items/${encodeURIComponent(id)}`, options)).body
      },
    },

    projects: {
      /** Creates a project, with the account key. */
      async create(project: api.NewProject, options?: CreateOptions): Promise<api.Project> {
        const answer = await calls.create('/projects', project, options)
        const { config, ...rest } = bodyOf<Omit<api.Project, 'public_key'>>(answer)
        return { ...rest, public_key: answer.header('x-public-project-key') ?? '', config }
      },
      async update(change: api.ProjectChange, options?: CallOptions): Promise<api.Project> {
        const request = { method: 'PUT', path: '/projects', headers: JSON_TYPE }
        const body = JSON.stringify(change)
        return bodyOf(await calls.send({ ...request, body, repeat: 'refused' }, options))
      },
    },

    stores: {
      /** Creates a store, with the account key. */
      create: async (store: api.NewStore, options?: CreateOptions) =>
        bodyOf<api.Store>(await calls.create('/stores', store, options)),
    },

    purchases: {
      /**
       * Imports all rows of a CSV file or none. Throws `invalid_purchases`, whose `details` name the
       * lines.
       */
      async import(
        { store_id, ...file }: api.PurchaseFile,
        { timeout = LONG_TIMEOUT, ...options }: CallOptions = {},
      ): Promise<api.ImportResult> {
        const request = createUpload(
          '/purchases/import',
          file,
          store_id === undefined ? {} : { store_id },
        )
        const answer = await calls.send(request, { ...options, timeout })
        bodyOf(answer)
        const count = (name: string) => Number(answer.header(`import-${name}`))
        return {
          import_id: answer.header('import-id') ?? '',
          rows: count('rows'),
          skipped: count('skipped'),
          updated: count('updated'),
          repeated: count('repeated'),
          passed_over: count('passed-over'),
        }
      },
      /**
       * Lists what the user of the token owns in a store. Needs a token that your server got from
       * `till.sessions.issue`: with any other, throws `insufficient_scope`.
       */
      async owned(query: api.OwnedQuery, options?: CallOptions): Promise<api.OwnedPage> {
        const request = { method: 'GET', path: withQuery('/purchases/owned', query), headers: {} }
        return bodyOf(await calls.send({ ...request, repeat: 'always' }, options))
      },
    },
  }
}

/** The cursor of the `Link` header (RFC 8288). The rest of the URL may belong to a proxy. */
function cursorOf(link: string | null): string | undefined {
  const target = link && /<([^>]*)>; *rel="?next\b/.exec(link)?.[1]
  if (!target) return undefined
  return new URLSearchParams(target.replace(/^[^?]*/, '')).get('cursor') ?? undefined
}
