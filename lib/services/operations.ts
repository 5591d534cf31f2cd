import type { Account } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { Project } from '../domain/project.ts'
import { parseAuditQuery } from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import type { AuditPage, Storage } from '../storage/port.ts'
import type { Context } from './context.ts'
import { opensProject, opensStore, type Sealer, sealProject, sealStore } from './secrets.ts'
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
  listAudit(query: unknown): Promise<AuditPage>
  /** The whole log, read page by page. */
  allAudit(query: unknown): AsyncIterable<AuditEntry>
  /** Adds a key that signs tokens from now on, and drops those no token can need any more. */
  rotateSigningKeys(options?: RotationOptions): Promise<RotatedKeys>
  /** The keys that sign and verify tokens, oldest first; never the secrets. */
  listSigningKeys(): Promise<ShownSigningKey[]>
  /**
   * Puts all stored secrets under the newest master key, and leaves nothing of what they were
   * before in a database file, which is written anew for it: others' writes wait so long.
   */
  sealSecrets(options?: CallOptions): Promise<SealedSecrets>
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

  const sealProjects = async (
    account: Account,
    first: Sealer,
    options: CallOptions | undefined,
  ): Promise<number> => {
    let sealed = 0
    const trail = (subject: string) => trailOf(context, account, 'secrets.seal', subject, options)
    for (const project of await storage.listProjects(account.account_id)) {
      if (sealProject(project, first) !== project) {
        const seal = (current: Project) => sealProject(current, sealer)
        await storage.updateProject(project.id, seal, trail(project.id))
        sealed++
      }
      for (const store of await storage.listStores(project.id)) {
        if (sealStore(store, first) === store) continue
        const seal = (current: Store) => sealStore(current, sealer)
        await storage.updateStore(store, seal, trail(store.store_id))
        sealed++
      }
    }
    return sealed
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
        const page = await operations.listAudit({ ...(query as object), limit: 1000, cursor })
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
      for (const { account_id } of await storage.listAccounts()) {
        for (const project of await storage.listProjects(account_id)) {
          if (left-- === 0) return
          const stores = await storage.listStores(project.id)
          const opens = stores.every((store) => opensStore(store, sealer))
          if (!opens || !opensProject(project, sealer)) {
            const message = `The secrets of ${project.id} are under a master key that is not set`
            throw new TillError('master_key_mismatch', message)
          }
        }
      }
    },

    async sealSecrets(options) {
      let sealed = 0
      let unreadable = 0
      const counting: Sealer = {
        ...sealer,
        renew(stored, place) {
          const renewed = sealer.renew(stored, place)
          if (!sealer.opens(renewed, place)) unreadable++
          return renewed
        },
      }
      for (const account of await storage.listAccounts()) {
        sealed += await sealProjects(account, counting, options)
      }
      await storage.forget?.()
      return { sealed, unreadable }
    },
  }
  return operations
}
