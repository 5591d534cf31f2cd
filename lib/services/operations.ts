import type { Account } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import type { Project } from '../domain/project.ts'
import {
  type AuditArchive,
  type AuditQuery,
  parseAuditArchive,
  parseAuditQuery,
} from '../domain/query.ts'
import type { Store } from '../domain/store.ts'
import { TillError } from '../errors.ts'
import { recordsOf } from '../storage/pages.ts'
import type {
  ArchiveRequest,
  AuditPage,
  Page,
  PoolState,
  Storage,
  StorageSize,
} from '../storage/port.ts'
import { auditedWrite, type CallOptions } from './audit.ts'
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

/** What the operator does, who is nobody's account. */
export interface Operations {
  /** Resolves when the storage answers; throws `storage_unavailable`. */
  ready(): Promise<void>
  /** What the database takes on the disk; undefined in memory. */
  size(): Promise<StorageSize | undefined>
  /** The connection pool of this process; undefined where the database needs none. */
  poolState(): PoolState | undefined
  /**
   * Throws `master_key_mismatch` when one of the first accounts, projects and stores holds a secret
   * that none of the master keys opens: a secret sealed under a stray key would be lost with it.
   * Reads a thousand of them, page by page, and fewer once they hold 16 MiB of configuration.
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
  /**
   * Moves old entries of the audit log to the end of a file, as JSON lines, and resolves to their
   * number. Entries are deleted once the file is on the disk. May be interrupted at any moment:
   * called again with the same file, it goes on. Throws `invalid_request` for a time less than one
   * hour ago and for a file that it can not write or that is no archive of this log.
   */
  archiveAudit(archive: AuditArchive, options?: ArchiveOptions): Promise<number>
  /** Adds a key that signs tokens from now on, and drops those no token can need any more. */
  rotateSigningKeys(options?: RotationOptions): Promise<RotatedKeys>
  /** The keys that sign and verify tokens, oldest first; never the secrets. */
  listSigningKeys(): Promise<SigningKeyInfo[]>
  /**
   * Puts all stored secrets under the newest master key, and leaves nothing of what they were
   * before in a database file, which is written anew for it: others' writes wait so long. The
   * hashes of requests that idempotency records keep are put under that key too.
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
  consumeBuckets: Storage['consumeBuckets']
}

export interface SealedSecrets {
  /** How many projects and stores had a secret in clear or under an older key. */
  readonly sealed: number
  /** How many secrets none of the keys opens: they are as they were. */
  readonly unreadable: number
  /** How many idempotency records had a hash in clear or under an older key. */
  readonly idempotency_records: number
}

export interface ArchiveOptions
  extends CallOptions,
    Pick<ArchiveRequest, 'onProgress' | 'signal'> {}

export interface RotationOptions extends CallOptions {
  /** `others`: all keys but the new one, which ends every token within 5 s. */
  readonly drop?: 'unneeded' | 'others'
}

export interface RotatedKeys {
  readonly kid: string
  readonly dropped: readonly string[]
}

export interface SigningKeyInfo {
  readonly kid: string
  readonly created_at: string
}

export function createOperations(context: Context): Operations {
  const { storage, keyring, sealer } = context

  async function* allRecords(): AsyncGenerator<Found> {
    for await (const account of recordsOf((page) => storage.listAccounts(page))) {
      const { account_id } = account
      yield { account }
      for await (const project of recordsOf((page) => storage.listProjects(account_id, page))) {
        yield { account, project }
        for await (const store of recordsOf((page) => storage.listStores(project.id, page))) {
          yield { account, store }
        }
      }
    }
  }

  const renewFingerprints = async (): Promise<number> => {
    let renewed = 0
    let page: Page | undefined = { limit: PAGE }
    while (page) {
      const { updated, next } = await storage.updateFingerprints(sealer.renewDigest, page)
      renewed += updated
      page = next === undefined ? undefined : { limit: PAGE, after: next }
    }
    return renewed
  }

  /** Without any key all that is sealed would seem lost. */
  const assertMasterKey = () => {
    if (sealer.isOn) return
    throw new TypeError('what no master key opens can not be told without one: see masterKeys')
  }

  const unreadableOf = ({ account: { account_id }, project, store }: Found): UnreadableSecret[] => {
    if (store) {
      const { project_id, store_id } = store
      const fields = unreadableOfStore(store, sealer)
      return fields.map((field) => ({ account_id, project_id, store_id, field }))
    }
    if (!project) return []
    const fields = unreadableOfProject(project, sealer)
    return fields.map((field) => ({ account_id, project_id: project.id, field }))
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
    size: async () => storage.size?.(),
    poolState: () => storage.poolState?.(),
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

    async archiveAudit(archive, { onProgress, signal, ...options } = {}) {
      const { before, file } = parseAuditArchive(archive)
      if (before > context.now() - ARCHIVED_AFTER_MS) {
        throw invalidField('before', 'invalid', 'must be at least one hour ago')
      }
      const time = formatInstant(before)
      const write = auditedWrite(context, undefined, 'audit.archive', time, options)
      return storage.archiveAudit({ before: time, file, write, onProgress, signal })
    },

    async rotateSigningKeys({ drop: mode = 'unneeded', ...options } = {}) {
      return keyring.rotate(mode, (key, drop) => {
        const write = auditedWrite(context, undefined, 'signing_keys.rotate', key.kid, options)
        return storage.rotateSigningKeys(key, drop, write)
      })
    },

    listSigningKeys: () => keyring.list(),
    consumeBuckets: (charges, elapsed) => storage.consumeBuckets(charges, elapsed),

    async assertSecretsOpen() {
      let bytes = 0
      for await (const found of allRecords()) {
        if (bytes >= ASSERTED_BYTES) return
        bytes += Math.max(LEAST_BYTES, sizeOf(found))
        const [first] = unreadableOf(found)
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
      for await (const found of allRecords()) {
        const { account, project, store } = found
        const write = (subject: string) =>
          auditedWrite(context, account, 'secrets.seal', subject, options)
        if (project && sealProject(project, sealer) !== project) {
          const seal = (current: Project) => sealProject(current, sealer)
          await storage.updateProject(project.id, seal, write(project.id))
          sealed++
        }
        if (store && sealStore(store, sealer) !== store) {
          const seal = (current: Store) => sealStore(current, sealer)
          await storage.updateStore(store, seal, write(store.store_id))
          sealed++
        }
        unreadable += unreadableOf(found).length
      }
      const idempotency_records = await renewFingerprints()
      await storage.forget?.()
      return { sealed, unreadable, idempotency_records }
    },

    async listUnreadableSecrets() {
      assertMasterKey()
      const secrets: UnreadableSecret[] = []
      for await (const found of allRecords()) secrets.push(...unreadableOf(found))
      return secrets
    },

    async dropUnreadableSecrets(options) {
      assertMasterKey()
      const dropped: UnreadableSecret[] = []
      for await (const found of allRecords()) {
        const secrets = unreadableOf(found)
        if (secrets.length === 0) continue
        const { account, project, store } = found
        const write = (subject: string) =>
          auditedWrite(context, account, 'secrets.drop', subject, options)
        if (project) {
          const drop = (current: Project) => dropFromProject(current, sealer)
          await storage.updateProject(project.id, drop, write(project.id))
        }
        if (store) {
          const drop = (current: Store) => dropFromStore(current, sealer)
          await storage.updateStore(store, drop, write(store.store_id))
        }
        dropped.push(...secrets)
      }
      return dropped
    },
  }
  return operations
}

const PAGE = 1000
const ARCHIVED_AFTER_MS = 3_600_000

/** A start reads a thousand records, or fewer that are large: parsing takes its time. */
const ASSERTED_BYTES = 16 * 1024 ** 2
const LEAST_BYTES = ASSERTED_BYTES / 1_000

function sizeOf({ project, store }: Found): number {
  return JSON.stringify(store?.store_config ?? project?.config ?? {}).length
}

/** An account, or one project or store of it. */
interface Found {
  readonly account: Account
  readonly project?: Project
  readonly store?: Store
}
