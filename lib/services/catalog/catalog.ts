import type { Account } from '../../domain/account.ts'
import type { CatalogPlan, CatalogProject, CatalogStore } from '../../domain/catalog.ts'
import { endpointIdOf } from '../../domain/endpoint.ts'
import { invalidField } from '../../domain/fields.ts'
import { ITEM_NAMES, type Item } from '../../domain/item.ts'
import type { JsonObject } from '../../domain/json.ts'
import { PROJECT_SECRETS } from '../../domain/project.ts'
import { secretReference } from '../../domain/secret-reference.ts'
import { STORE_SECRETS } from '../../domain/store.ts'
import { catalogPages, type ItemPage, type Page, recordsOf } from '../../storage/port.ts'
import { assertAccount, getNamedProject, verified } from '../access.ts'
import { auditedWrite, type CallOptions } from '../audit.ts'
import type { Context } from '../context.ts'
import { type CatalogRequest, preparePlan } from './plan.ts'

export interface Catalogs {
  /**
   * The text of a catalog file: a project with its stores and items, one item a line. In place of a
   * secret, it has a reference to an environment variable.
   */
  export(account: Account, query: CatalogExport): AsyncIterable<string>
  /**
   * Compares a catalog with the stored one, and changes nothing. Throws `invalid_request` that
   * names every mistake with its JSON path or line, and `catalog_changed` if the stored catalog
   * changed since the plan with the given `digest`.
   */
  plan(account: Account, request: CatalogRequest): Promise<CatalogPlan>
  /**
   * Plans the changes as `plan` does, and makes all of them or none. Throws `catalog_changed` also
   * if the stored catalog changed meanwhile.
   */
  apply(account: Account, request: CatalogRequest, options?: ApplyOptions): Promise<CatalogPlan>
}

export interface ApplyOptions extends CallOptions {
  /**
   * The most changes; more are refused with `invalid_request`. On SQLite, 1,000 changes block the
   * event loop for 25 ms.
   */
  readonly mostChanges?: number | undefined
}

export interface CatalogExport {
  readonly project_id: string
}

export function createCatalog(context: Context): Catalogs {
  const { storage, longCalls, catalogPlans, rowQuotas } = context

  /** The config with the URL and secret that receive messages, not those that are unconfirmed. */
  const confirmedConfig = async (config: JsonObject, endpoint_id: string): Promise<JsonObject> => {
    const endpoint = await storage.findEndpoint(endpoint_id)
    if (!endpoint) return config
    const { url, secrets } = endpoint
    const settings = { webhook_url: url || undefined, webhook_secret: secrets[0]?.secret }
    const entries = Object.entries({ ...config, ...settings })
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }

  const prepare = (account: Account, request: CatalogRequest) => {
    const work = verified(context, account, 'catalog', () => preparePlan(context, account, request))
    return catalogPlans.run(account.account_id, work, { signal: request?.signal })
  }

  async function* exportCatalog(account: Account, { project_id }: CatalogExport) {
    const project = await getNamedProject(storage, account, project_id, 'project_id')
    const { id, name, bundle_id, platform, status, dlscheme } = project
    const confirmed = await confirmedConfig(project.config, id)
    const config = withReferences(confirmed, PROJECT_SECRETS, 'project')
    const fields = { id, name, bundle_id, platform, status, dlscheme, config }
    const described = fields satisfies Record<keyof CatalogProject, unknown>
    yield `{\n  "$schema": "./catalog.schema.json",\n  "project": ${format(described, 2)},\n  "stores": [`
    let before = ''
    const listStores = verified(context, account, 'read', (page: Page) =>
      storage.listStores(id, page),
    )
    for await (const store of recordsOf(listStores)) {
      const { store_id, store_type, is_sandbox, status } = store
      const confirmed = await confirmedConfig(store.store_config, endpointIdOf(store))
      const store_config = withReferences(confirmed, STORE_SECRETS, store_id)
      const fields = { store_id, store_type, is_sandbox, status, store_config }
      const text = format(fields satisfies Record<StoreField, unknown>, 4)
      yield `${before}\n    ${text.slice(0, -6)},\n      "items": [`
      before = ','
      const list = (page: Page) => storage.listItems(store, page)
      yield* formatItems(catalogPages(verified(context, account, 'read', list)))
      yield ']\n    }'
    }
    yield before === '' ? ']\n}\n' : '\n  ]\n}\n'
  }

  return {
    async *export(account, query) {
      assertAccount(account, 'read')
      yield* longCalls.each(account.account_id, exportCatalog(account, query))
    },

    async plan(account, request) {
      assertAccount(account, 'catalog')
      return (await prepare(account, request)).plan
    },

    async apply(account, request, { mostChanges = Infinity, ...options } = {}) {
      assertAccount(account, 'catalog')
      const { plan, writes, checks } = await prepare(account, request)
      const changes = plan.changes.length
      if (changes === 0) return plan
      if (changes > mostChanges) {
        const message = `makes ${changes} changes, and one request at most ${mostChanges}`
        throw invalidField('catalog', 'too_many', message)
      }
      const { project_id, created, updated, archived, restored } = plan
      const items = created - writes.newStores.length
      if (items > 0 && items > (await rowQuotas.items.room(account.account_id, items))) {
        throw rowQuotas.items.refusal()
      }
      const data = { created, updated, archived, restored }
      const about = { subject: project_id, project_id, data }
      const write = auditedWrite(context, account, 'catalog.apply', about, options)
      const { data: _, ...shared } = write.audit
      const entries = writes.entries.map((entry) => ({ ...shared, ...entry }))
      await storage.applyCatalog({ ...writes, entries }, { ...write, ...checks })
      rowQuotas.items.add(account.account_id, items)
      return plan
    },
  }
}

type StoreField = Exclude<keyof CatalogStore, 'items'>

async function* formatItems(pages: AsyncIterable<ItemPage>): AsyncGenerator<string> {
  let before = ''
  for await (const { items } of pages) {
    if (items.length === 0) continue
    yield before + items.map(formatItem).join(',')
    before = ','
  }
  yield before === '' ? '' : '\n      '
}

function formatItem(item: Item): string {
  const archived = item.archived_at === undefined ? undefined : true
  const fields = Object.fromEntries(ITEM_NAMES.map((name) => [name, item[name]]))
  return `\n        ${JSON.stringify({ ...fields, price: String(item.price), archived })}`
}

function format(value: object, indent: number): string {
  return JSON.stringify(value, null, 2).replaceAll('\n', `\n${' '.repeat(indent)}`)
}

function withReferences(config: JsonObject, names: readonly string[], owner: string): JsonObject {
  const shown = Object.entries(config).map(([key, value]) => [
    key,
    names.includes(key) ? secretReference(owner, key) : value,
  ])
  return Object.fromEntries(shown)
}
