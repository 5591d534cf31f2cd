import { decodeJwt } from 'jose'
import type { AuditEntry, Session } from '../../../lib/index.ts'
import { type KeyedAccount, pseudonymOf, type Storage } from '../../../lib/storage/port.ts'
import { collect } from '../collect.ts'
import { fileOf, type Shop } from '../till.ts'

export const REQUEST_ID = 'request-1'
const OPTIONS = { requestId: REQUEST_ID }

/** A shop, and the callers of its operations. `spare` is the id of another key of the account. */
export interface KeyedShop extends Shop {
  readonly key: KeyedAccount
  readonly spare: string
  readonly session: Session
}

/** A call of an account that changes something. */
export interface Write {
  /** The action of its audit entry. */
  readonly action: string
  /** The storage method that writes after all reads of the call. */
  readonly method?: keyof Storage
  prepare?(shop: KeyedShop): Promise<unknown>
  /** Makes the change. Resolves to the subject of the audit entry. */
  make(shop: KeyedShop): Promise<string>
  /** The other fields of the audit entry that are not empty. */
  about?(shop: KeyedShop, subject: string): Partial<AuditEntry>
  /** The same call with an error in it that the storage finds. */
  fail?(shop: KeyedShop): Promise<unknown>
}

const ofProject = ({ project_id }: KeyedShop) => ({ project_id })
const ofStore = ({ project_id }: KeyedShop) => ({ project_id, store_id: 'main' })
const FILE = 'transaction_id,sku,purchased_at\nT-1,gold,2024-03-01T12:34:56Z\n'

export const file = (csv = FILE) => ({ store_id: 'main', file: fileOf(csv) })
export const SILVER = {
  ...{ store_id: 'main', name: 'silver', display_name: 'Silver', price: '99' },
  type: 'consumable',
} as const
export const newGame = ({ account_id }: { readonly account_id: string }) => ({
  ...{ account_id, name: 'Second', bundle_id: 'com.example.second', platform: 'web' },
})

/** An import, by an account or a session. */
export const importBy = (callerOf: (shop: KeyedShop) => KeyedAccount | Session): Write => ({
  action: 'purchases.import',
  about: (shop) => ({
    ...ofStore(shop),
    data: { rows: 1, added: 1, skipped: 0, updated: 0, passed_over: 0 },
  }),
  make: async (shop) =>
    (await shop.till.purchases.import(callerOf(shop), file(), OPTIONS)).import_id,
  fail: (shop) =>
    shop.till.purchases.import(callerOf(shop), file(FILE.replace('gold', 'silver')), OPTIONS),
})

/** Every write of an account, with its audit entry. */
export const WRITES: Record<string, Write> = {
  'accounts.addKey': {
    action: 'account_key.add',
    method: 'insertAccountKey',
    make: async ({ till, key }) => (await till.accounts.addKey(key, OPTIONS)).key_id,
  },
  'accounts.updateKey': {
    action: 'account_key.update',
    method: 'updateAccountKey',
    about: () => ({ data: { scopes: ['read'] } }),
    async make({ till, key, spare }) {
      await till.accounts.updateKey(key, { key_id: spare, scopes: ['read'] }, OPTIONS)
      return spare
    },
  },
  'accounts.revokeKey': {
    action: 'account_key.revoke',
    method: 'updateAccountKey',
    async make({ till, key, spare }) {
      await till.accounts.revokeKey(key, spare, OPTIONS)
      return spare
    },
  },
  'projects.create': {
    action: 'project.create',
    method: 'insertProject',
    about: (_shop, subject) => ({ project_id: subject }),
    make: async ({ till, key }) => (await till.projects.create(key, newGame(key), OPTIONS)).id,
  },
  'projects.update': {
    action: 'project.update',
    method: 'updateProject',
    about: ofProject,
    make: async ({ till, key, project_id: id }) =>
      (await till.projects.update(key, { id, name: 'New' }, OPTIONS)).id,
  },
  'projects.rotateKey': {
    action: 'project.rotate_key',
    method: 'rotatePublicKey',
    about: ofProject,
    make: async ({ till, key, project_id: id }) =>
      (await till.projects.rotateKey(key, { id }, OPTIONS)).id,
  },
  'stores.create': {
    action: 'store.create',
    method: 'insertStore',
    about: (shop, subject) => ({ ...ofProject(shop), store_id: subject }),
    make: async ({ till, key, project_id }) =>
      (await till.stores.create(key, { project_id, store_type: 'web' }, OPTIONS)).store_id,
  },
  'stores.update': {
    action: 'store.update',
    method: 'updateStore',
    about: ofStore,
    make: async ({ till, key }) =>
      (await till.stores.update(key, { store_id: 'main', status: 'paused' }, OPTIONS)).store_id,
  },
  'items.create': {
    action: 'item.create',
    method: 'insertItem',
    about: ofStore,
    make: async ({ till, key }) => (await till.items.create(key, SILVER, OPTIONS)).id,
    fail: ({ till, key }) => till.items.create(key, { ...SILVER, name: 'gold' }, OPTIONS),
  },
  'items.update': {
    action: 'item.update',
    method: 'updateItem',
    about: (shop) => {
      const price = { old: 499, new: 599 }
      const data = { name: 'gold', version: 2, changed: ['price', 'metadata'], price }
      return { ...ofStore(shop), data }
    },
    make: async ({ till, key, item: { id } }) =>
      (await till.items.update(key, { id, price: '599', meta: { rare: true } }, OPTIONS)).id,
    fail: ({ till, key, item: { id } }) =>
      till.items.update(key, { id, price: '699', version: 2 }, OPTIONS),
  },
  'items.archive': {
    action: 'item.archive',
    method: 'updateItem',
    about: (shop) => ({ ...ofStore(shop), data: { name: 'gold', version: 2 } }),
    make: async ({ till, key, item }) => (await till.items.archive(key, item.id, OPTIONS)).id,
  },
  'items.restore': {
    action: 'item.restore',
    prepare: ({ till, key, item }) => till.items.archive(key, item.id),
    about: (shop) => ({ ...ofStore(shop), data: { name: 'gold', version: 3 } }),
    make: async ({ till, key, item }) => (await till.items.restore(key, item.id, OPTIONS)).id,
  },
  'purchases.import': importBy(({ key }) => key),
  'sessions.issue': {
    action: 'tokens.issue',
    method: 'insertAudit',
    about: ofProject,
    make: async ({ till, key, project_id }) =>
      String(decodeJwt((await till.sessions.issue(key, { project_id }, OPTIONS)).token).jti),
  },
  'sessions.revoke of a project': {
    action: 'tokens.revoke',
    method: 'revokeTokens',
    about: ofProject,
    async make({ till, key, project_id }) {
      await till.sessions.revoke(key, { project_id }, OPTIONS)
      return project_id
    },
  },
  'sessions.revoke of a user': {
    action: 'tokens.revoke',
    method: 'revokeTokens',
    about: ofProject,
    async make({ till, key, project_id }) {
      await till.sessions.revoke(key, { project_id, user_id: 'ann' }, OPTIONS)
      return `${project_id}/ann`
    },
  },
  'users.export': {
    action: 'users.export',
    about: ofProject,
    async make({ till, key, project_id }) {
      await collect(till.users.export(key, { project_id, user_id: 'ann' }, OPTIONS))
      return `${project_id}/${pseudonymOf({ project_id, user_id: 'ann' })}`
    },
  },
  'users.erase': {
    action: 'users.erase',
    method: 'pseudonymizeWatermark',
    about: (shop) => ({ ...ofProject(shop), data: { delete: true } }),
    async make({ till, key, project_id }) {
      const user = { project_id, user_id: 'ann', delete: true }
      const { pseudonym } = await till.users.erase(key, user, OPTIONS)
      return `${project_id}/${pseudonym}`
    },
  },
}
