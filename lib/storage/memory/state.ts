import type { Account, AccountKey } from '../../domain/account.ts'
import { type Authority, assertAuthority } from '../../domain/authority.ts'
import type { JsonObject } from '../../domain/fields.ts'
import type { IdempotencyRecord } from '../../domain/idempotency.ts'
import type { Item } from '../../domain/item.ts'
import type { Project } from '../../domain/project.ts'
import type { StoredPurchase } from '../../domain/purchase.ts'
import type { Store } from '../../domain/store.ts'
import type { NumberedEntry } from '../archive-file.ts'
import type {
  ErasedPurchase,
  FormerPublicKey,
  Insertion,
  Quota,
  StoredSigningKey,
  StoreKey,
  Watermark,
  WriteOptions,
} from '../port.ts'
import { pseudonymOf } from '../pseudonym.ts'
import { assertWithin, bytesOf, grows } from '../quota.ts'

/** All records of a memory storage, and the checks that its methods share. */
export type State = ReturnType<typeof createState>

/** A store with its items by name and its purchases by transaction id. */
export interface StoreRecords {
  store: Store
  readonly items: Map<string, Item>
  readonly purchases: Map<string, KeptPurchase>
  readonly erased: Map<string, ErasedPurchase>
  importing: boolean
}

/**
 * A purchase whose metadata is JSON in bytes. Parsed, `[{},{},…]` takes 24 times as much, and V8
 * collects its garbage late in a large heap. Four imports of 31 MiB took 545 MiB, and now 250 MiB.
 */
export type KeptPurchase = Omit<StoredPurchase, 'metadata'> & { readonly metadata: Buffer }

export function createState() {
  const state = {
    accounts: new Map<string, Account>(),
    accountKeys: new Map<string, AccountKey>(),
    projects: new Map<string, Project>(),
    /** Project ids by public key. */
    publicKeys: new Map<string, string>(),
    formerKeys: new Map<string, FormerPublicKey>(),
    stores: new Map<string, StoreRecords>(),
    items: new Map<string, Item>(),
    signingKeys: [] as StoredSigningKey[],
    watermarks: new Map<string, Watermark>(),
    idempotencyRecords: new Map<string, IdempotencyRecord>(),
    audit: [] as NumberedEntry[],
    lastSeq: 0,
    /** Bytes of configuration by account id. */
    configBytes: new Map<string, number>(),
    isUnfinished: false,

    projectsOf: (account_id: string) =>
      [...state.projects.values()].filter((each) => each.account_id === account_id),
    storesOf: (project_id: string) =>
      [...state.stores.values()].flatMap(({ store }) =>
        store.project_id === project_id ? store : [],
      ),
    recordsOf(store: StoreKey): StoreRecords {
      const records = state.stores.get(storeKey(store))
      if (!records) throw new Error('insert the store before its items and purchases')
      return records
    },

    watermarkOf(project_id: string, user_id: string): number {
      const users = ['', user_id, pseudonymOf({ project_id, user_id })]
      const found = users.map((user) => state.watermarks.get(watermarkKey(project_id, user)))
      return Math.max(0, ...found.map((watermark) => watermark?.not_after ?? 0))
    },

    /** Call it before any change: nothing is rolled back. */
    verify(authority: Authority | undefined): void {
      if (!authority) return
      const { key_id, token, store } = authority
      const key = state.accountKeys.get(key_id ?? '')
      assertAuthority(authority, {
        has_key: key !== undefined && key.revoked_at === undefined,
        project_status: token && state.projects.get(token.project_id)?.status,
        watermark: token ? state.watermarkOf(token.project_id, token.user_id) : 0,
        store_status: store && state.stores.get(storeKey(store))?.store.status,
      })
    },

    /** Writes the audit entry and the idempotency record of a change. */
    recordWrite({ audit, idempotency }: WriteOptions): void {
      if (audit) state.audit.push({ seq: ++state.lastSeq, ...audit })
      if (!idempotency) return
      const { idempotencyRecords } = state
      for (const [key, { expires_at }] of idempotencyRecords) {
        if (expires_at <= idempotency.created_at) idempotencyRecords.delete(key)
      }
      idempotencyRecords.set(idempotencyKey(idempotency), structuredClone(idempotency))
    },

    /** Runs `insert` unless a valid idempotency record exists; `insert` returns false when taken. */
    insertOnce(write: WriteOptions, insert: () => boolean): Insertion {
      state.verify(write.authority)
      const { idempotency } = write
      const known = idempotency && state.idempotencyRecords.get(idempotencyKey(idempotency))
      if (known && known.expires_at > idempotency.created_at) return 'repeated'
      if (!insert()) return 'taken'
      state.recordWrite(write)
      return 'inserted'
    },

    /** Adds a configuration to the usage of its account. Throws `quota_exceeded` before a change. */
    countConfig(
      account_id: string,
      quota: Quota | undefined,
      config: JsonObject,
      before?: JsonObject,
    ): void {
      const added = bytesOf(config) - (before ? bytesOf(before) : 0)
      const config_bytes = (state.configBytes.get(account_id) ?? 0) + added
      if (quota && !before) {
        const projects = state.projectsOf(account_id).length + 1
        const stores = state.storesOf(quota.project_id ?? '').length + 1
        assertWithin({ projects, stores, config_bytes }, quota)
      } else if (quota && before && grows(before, config)) {
        assertWithin({ config_bytes }, quota)
      }
      state.configBytes.set(account_id, config_bytes)
    },
  }
  return state
}

export function storeKey({ account_id, store_id }: StoreKey): string {
  return `${account_id}/${store_id}`
}

export function watermarkKey(project_id: string, user_id: string): string {
  return `${project_id}/${user_id}`
}

export function idempotencyKey({
  account_id,
  key,
}: Pick<IdempotencyRecord, 'account_id' | 'key'>): string {
  return `${account_id}/${key}`
}
