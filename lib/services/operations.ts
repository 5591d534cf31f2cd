import type { Account } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { Project } from '../domain/project.ts'
import { type AuditQuery, parseAuditQuery } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { AuditPage, Storage } from '../storage/port.ts'
import type { Context } from './context.ts'
import {
  dropFromProject,
  dropFromStore,
  sealProject,
  sealStore,
  type UnreadableSecret,
  unreadableOfProject,
  unreadableOfStore,
} from './secrets.ts'
import { type CallOptions, trailOf } from './trail.ts'

/** What the operator does, who is nobody's account. */
export interface Operations {
  /** Resolves when the storage answers; throws `storage_unavailable`. */
  ready(): Promise<void>
  /**
   * Throws `master_key_mismatch` when the first thousand projects and their stores hold a secret
   * that none of the master keys opens: a secret sealed under a stray key would be lost with it.
   */
  assertSecretsOpen(): Promise<void>
  /** Looks the whole storage through; a sentence for each thing that is wrong with it. */
  check(): Promise<string[]>
  /** Writes a consistent copy of a database file, while it is in use. */
  backup(path: string): Promise<void>
  /** A page of the audit log in its order, of one account when `account_id` is named. */
  listAudit(query: AuditQuery): Promise<AuditPage>
  /** The whole log, read page by page. */
  allAudit(query: AuditQuery): AsyncIterable<AuditEntry>
  /** Adds a key that signs tokens from now on, and drops those no token can need any more. */
  rotateSigningKeys(options?: RotationOptions): Promise<RotatedKeys>
  /** The keys that sign and verify tokens, oldest first; never the secrets. */
  listSigningKeys(): Promise<ShownSigningKey[]>
  /**
   * Puts all stored secrets under the newest master key, and leaves nothing of what they were
   * before in a database file, which is written anew for it: others' writes wait so long.
   */
  sealSecrets(options?: CallOptions): Promise<SealedSecrets>
  /** The secrets that none of the master keys opens, by their places. */
  listUnreadableSecrets(): Promise<UnreadableSecret[]>
  /**
   * Removes the secrets that none of the master keys opens, and returns them. Each project or store
   * is changed together with an entry in the audit log.
   */
  dropUnreadableSecrets(options?: CallOptions): Promise<UnreadableSecret[]>
  /**
   * For servers that share rate limits. Takes from buckets, by name, the milliseconds in which what
   * was let through since `elapsed` milliseconds ago is filled again; returns in how many each will
   * be full, by what all servers have taken.
   */
  chargeBuckets: Storage['chargeBuckets']
}

export interface SealedSecrets {
  /** How many projects and stores had a secret in clear or under an older key. */
  readonly sealed: number
  /** How many secrets none of the keys opens: they are as they were. */
  readonly unreadable: number
}

export interface RotationOptions extends CallOptions {
  /** `others`: all keys but the new one, which ends every token within 5 s. */
  readonly drop?: 'unneeded' | 'others'
}

export interface RotatedKeys {
  readonly kid: string
  readonly dropped: readonly string[]
}

export interface ShownSigningKey {
  readonly kid: string
  readonly created_at: string
}

export function createOperations(context: Context): Operations {
  const { storage, keyring, sealer } = context

  async function* allRecords(): AsyncGenerator<Records> {
    for (const account of await storage.listAccounts()) {
      for (const project of await storage.listProjects(account.account_id)) {
        yield { account, project, stores: await storage.listStores(project.id) }
      }
    }
  }

  /** Without any key all that is sealed would seem lost. */
  const assertMasterKey = () => {
    if (sealer.isOn) return
    throw new TypeError('what no master key opens can not be told without one: see masterKeys')
  }

  const unreadableOf = ({ account, project, stores }: Records): UnreadableSecret[] => {
    const place = { account_id: account.account_id, project_id: project.id }
    return [
      ...unreadableOfProject(project, sealer).map((field) => ({ ...place, field })),
      ...stores.flatMap((store) =>
        unreadableOfStore(store, sealer).map((field) => {
          return { ...place, store_id: store.store_id, field }
        }),
      ),
    ]
  }

  const operations: Operations = {
    async ready() {
      try {
        await storage.ping()
      } catch (cause) {
        const unanswered = new TillError('storage_unavailable', 'The storage does not answer')
        unanswered.cause = cause
        throw unanswered
      }
    },
    check: () => storage.check(),

    async backup(path) {
      if (storage.backup) return storage.backup(path)
      throw new TillError('invalid_request', 'Only a database file can be backed up this way')
    },

    async listAudit(query) {
      const { account_id, limit, cursor } = parseAuditQuery(query)
      return storage.listAudit(
        account_id,
        cursor === undefined ? { limit } : { limit, after: cursor },
      )
    },

    async *allAudit(query) {
      let cursor: string | undefined
      do {
        const page = await operations.listAudit({ ...query, limit: 1000, cursor })
        yield* page.entries
        cursor = page.next
      } while (cursor !== undefined)
    },

    async rotateSigningKeys(options) {
      return keyring.rotate(options?.drop ?? 'unneeded', (key, drop) => {
        const trail = trailOf(context, undefined, 'signing_keys.rotate', key.kid, options)
        return storage.rotateSigningKeys(key, drop, trail)
      })
    },

    listSigningKeys: () => keyring.list(),
    chargeBuckets: (charges, elapsed) => storage.chargeBuckets(charges, elapsed),

    async assertSecretsOpen() {
      let left = 1000
      for await (const records of allRecords()) {
        if (left-- === 0) return
        const [first] = unreadableOf(records)
        if (!first) continue
        const { field, store_id, project_id } = first
        const record =
          store_id === undefined ? project_id : `the store ${store_id} of ${project_id}`
        const message = `No master key that is set opens the ${field} of ${record}`
        throw new TillError('master_key_mismatch', message)
      }
    },

    async sealSecrets(options) {
      let sealed = 0
      let unreadable = 0
      for await (const records of allRecords()) {
        const { account, project, stores } = records
        const trail = (subject: string) =>
          trailOf(context, account, 'secrets.seal', subject, options)
        if (sealProject(project, sealer) !== project) {
          const seal = (current: Project) => sealProject(current, sealer)
          await storage.updateProject(project.id, seal, trail(project.id))
          sealed++
        }
        for (const store of stores) {
          if (sealStore(store, sealer) === store) continue
          const seal = (current: Store) => sealStore(current, sealer)
          await storage.updateStore(store, seal, trail(store.store_id))
          sealed++
        }
        unreadable += unreadableOf(records).length
      }
      await storage.forget?.()
      return { sealed, unreadable }
    },

    async listUnreadableSecrets() {
      assertMasterKey()
      const found: UnreadableSecret[] = []
      for await (const records of allRecords()) found.push(...unreadableOf(records))
      return found
    },

    async dropUnreadableSecrets(options) {
      assertMasterKey()
      const dropped: UnreadableSecret[] = []
      for await (const records of allRecords()) {
        const { account, project, stores } = records
        const trail = (subject: string) =>
          trailOf(context, account, 'secrets.drop', subject, options)
        if (unreadableOfProject(project, sealer).length > 0) {
          const drop = (current: Project) => dropFromProject(current, sealer)
          await storage.updateProject(project.id, drop, trail(project.id))
        }
        for (const store of stores) {
          if (unreadableOfStore(store, sealer).length === 0) continue
          const drop = (current: Store) => dropFromStore(current, sealer)
          await storage.updateStore(store, drop, trail(store.store_id))
        }
        dropped.push(...unreadableOf(records))
      }
      return dropped
    },
  }
  return operations
}

/** A project with its stores, and whose they are. */
interface Records {
  readonly account: Account
  readonly project: Project
  readonly stores: readonly Store[]
}
