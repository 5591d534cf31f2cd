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

/** Methods for the operator. They take no caller. */
export interface Operations {
  /** Resolves when the storage answers; throws `storage_unavailable`. */
  ready(): Promise<void>
  /** Bytes on the disk; undefined in memory. */
  size(): Promise<StorageSize | undefined>
  /** The connection pool of this process; undefined without one. */
  poolState(): PoolState | undefined
  /**
   * Throws `master_key_mismatch` if no master key decrypts a stored secret: new secrets would be
   * encrypted with a wrong key. Checks the first 1,000 records, or 16 MiB of configuration.
   */
  assertSecretsOpen(): Promise<void>
  /** Checks the whole storage. Resolves to a sentence for each problem. */
  check(): Promise<string[]>
  /** Writes a consistent copy of a SQLite file, also while it is in use. */
  backup(path: string): Promise<void>
  /** One page of the audit log, oldest first. */
  listAudit(query: AuditQuery): Promise<AuditPage>
  /** All entries, read page by page. */
  allAudit(query: AuditQuery): AsyncIterable<AuditEntry>
  /**
   * Moves old entries of the audit log to the end of a file, as JSON lines. Resolves to their
   * number. Deletes entries after the file is on the disk. A call with the same file continues an
   * interrupted one. Throws `invalid_request` for a later time and a wrong file.
   */
  archiveAudit(archive: AuditArchive, options?: ArchiveOptions): Promise<number>
  /** Adds a signing key and drops the keys that no valid token needs. */
  rotateSigningKeys(options?: RotationOptions): Promise<RotatedKeys>
  /** The signing keys without their secrets, oldest first. */
  listSigningKeys(): Promise<SigningKeyInfo[]>
  /**
   * Encrypts all stored secrets, and the hashes in idempotency records, with the newest master key.
   * Rewrites a database file, so it holds no trace of the old ones. Other writes wait meanwhile.
   */
  sealSecrets(options?: CallOptions): Promise<SealedSecrets>
  /** The secrets that no master key decrypts. */
  listUnreadableSecrets(): Promise<UnreadableSecret[]>
  /** Deletes the secrets that no master key decrypts, and returns their places. */
  dropUnreadableSecrets(options?: CallOptions): Promise<UnreadableSecret[]>
  /**
   * For servers that share rate limits. Takes from buckets, by name, the milliseconds in which what
   * was let through since `elapsed` milliseconds ago is filled again; returns in how many each will
   * be full, by what all servers have taken.
   */
  consumeBuckets: Storage['consumeBuckets']
}

export interface SealedSecrets {
  /** Projects and stores whose secrets were in clear or under an older key. */
  readonly sealed: number
  /** Secrets that no master key decrypts. They stay unchanged. */
  readonly unreadable: number
  /** Idempotency records whose hashes were unkeyed or under an older key. */
  readonly idempotency_records: number
}

export interface ArchiveOptions
  extends CallOptions,
    Pick<ArchiveRequest, 'onProgress' | 'signal'> {}

export interface RotationOptions extends CallOptions {
  /** `others` drops all keys but the new one. Then every token is invalid within 5 s. */
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
