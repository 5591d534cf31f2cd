import type { Account } from '../domain/account.ts'
import type { AuditEntry } from '../domain/audit.ts'
import type { StoredEndpoint } from '../domain/endpoint.ts'
import { invalidField, parseObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { isSameJson } from '../domain/json.ts'
import {
  type AuditArchive,
  type AuditQuery,
  archiveFields,
  auditFields,
  pageFor,
  parseFollowQuery,
} from '../domain/query.ts'
import { TillError } from '../errors.ts'
import {
  type ArchiveRequest,
  type AuditPage,
  listAll,
  type OpenTransaction,
  type PoolState,
  recordsOf,
  type StorageSize,
} from '../storage/port.ts'
import type { RotatedKeys, SigningKeyInfo } from '../token/keyring.ts'
import { auditedWrite, type CallOptions } from './audit.ts'
import { updateConfigured } from './configured.ts'
import type { Context } from './context.ts'
import type { NearQuota } from './row-quotas.ts'
import { isSealed } from './sealer.ts'
import {
  configBytes,
  dropUnreadable,
  findSecrets,
  findUnreadable,
  type SecretHolder,
  type StoredSecret,
  sealSecrets,
} from './secret-fields.ts'
import { renewEndpoint } from './webhooks/endpoints.ts'

/** The operator's methods. They take no caller. */
export interface Operator {
  /** Resolves if the storage answers, else throws `storage_unavailable`. */
  ready(): Promise<Readiness>
  /** The storage's size on disk in bytes; undefined for a storage in memory. */
  size(): Promise<StorageSize | undefined>
  /** The state of this process's connection pool; undefined without a pool. */
  poolState(): PoolState | undefined
  /**
   * Finds the oldest open transaction that has written to a PostgreSQL database. Webhooks and
   * `followAudit` wait until it ends. Undefined if there is none, and on SQLite.
   */
  openTransaction(): Promise<OpenTransaction | undefined>
  /**
   * The accounts that use at least 80 % of their quota of items or purchases, of those that added
   * some through this process.
   */
  nearQuotas(): NearQuota[]
  /**
   * Throws `master_key_mismatch` if a stored secret cannot be decrypted. Call it before storing new
   * secrets, which would be encrypted with a wrong key. Checks the first 1,000 records, or 16 MiB
   * of configuration.
   */
  assertSecretsOpen(): Promise<void>
  /**
   * Stores the check value of the newest master key. From then on, the storage takes secrets only
   * if they are encrypted with this key or a later one. Throws `master_key_mismatch` if the storage
   * has the check value of another key.
   */
  requireMasterKey(): Promise<void>
  /** Lists the secrets that are stored unencrypted. Checks as many as `assertSecretsOpen`. */
  listUnsealedSecrets(): Promise<StoredSecret[]>
  /**
   * Checks the whole storage. Resolves to a list with one sentence for each problem. On SQLite,
   * blocks the event loop: 4 s for a million purchases. Beside a server, run `tillkit check`.
   */
  check(): Promise<string[]>
  /**
   * Writes a consistent copy of a SQLite file, even while it is in use. Blocks the event loop: 0.3 s
   * of CPU time for a million purchases. Beside a server, run `tillkit backup`.
   */
  backup(path: string): Promise<void>
  /** Reads one page of the audit log, oldest entries first. */
  listAudit(query: AuditQuery): Promise<AuditPage>
  /**
   * Like `listAudit`, but for a reader that follows the log: even the last page has a `next`. A
   * later call with this value as `cursor` reads the entries that were committed since. On
   * PostgreSQL, an entry appears only when all transactions of the database that began before its own
   * have ended.
   */
  followAudit(query: AuditQuery): Promise<FollowedAudit>
  /** Iterates over all entries of the audit log, and reads them page by page. */
  allAudit(query: AuditQuery): AsyncIterable<AuditEntry>
  /**
   * Writes old entries of the audit log to a new file as JSON lines, then deletes them from the log.
   * Deletes entries only after an fsync of the file. Resolves to the number of moved entries. Ends
   * before the first entry that a webhook endpoint has not received, unless the endpoint has been
   * stopped or failing for more than 30 days. After an interruption, call it again with another
   * file. Throws `invalid_request` if `before` is too late or the file exists.
   */
  archiveAudit(archive: AuditArchive, options?: ArchiveOptions): Promise<number>
  /** Adds a signing key, and drops the keys that no valid token needs. */
  rotateSigningKeys(options?: RotationOptions): Promise<RotatedKeys>
  /** Lists the signing keys without their secrets, oldest first. */
  listSigningKeys(): Promise<SigningKeyInfo[]>
  /**
   * Encrypts all stored secrets with the newest master key. Removes the hashes of earlier requests
   * from idempotency records, so a repetition of such a request is refused. On SQLite, then
   * rewrites the file to remove all traces of the old secrets and hashes. Other writes wait
   * meanwhile.
   */
  sealSecrets(options?: CallOptions): Promise<SealedSecrets>
  /** Lists the secrets that no master key decrypts. */
  listUnreadableSecrets(): Promise<StoredSecret[]>
  /**
   * Deletes the secrets that no master key decrypts. Returns a list that identifies them. If no
   * encrypted secret is left, deletes the check value of the master key too.
   */
  dropUnreadableSecrets(options?: CallOptions): Promise<StoredSecret[]>
}

export interface Readiness {
  /**
   * The clock of this process minus that of the database server, in seconds. Undefined for a
   * storage without a server. Wrong by at most half of the time that the check took.
   */
  readonly clock_offset: number | undefined
}

export interface FollowedAudit {
  readonly entries: readonly AuditEntry[]
  /** The `cursor` for the next call; even the last page has it. */
  readonly next: string
  /** Whether no further entries follow at present. */
  readonly isLast: boolean
}

export interface SealedSecrets {
  /** The number of projects and stores whose secrets were encrypted with the newest key. */
  readonly sealed: number
  /** The number of secrets that no master key decrypts. They stay unchanged. */
  readonly unreadable: number
  /** The number of idempotency records whose hashes were removed. Their requests are refused now. */
  readonly idempotency_records: number
}

export interface ArchiveOptions
  extends CallOptions,
    Pick<ArchiveRequest, 'onProgress' | 'signal'> {}

export interface RotationOptions extends CallOptions {
  /** With `others`, drops all keys except the new one. Earlier tokens are invalid after 5 s. */
  readonly drop?: 'unneeded' | 'others'
}

export function createOperator(context: Context): Operator {
  const { storage, keyring, sealer } = context

  /** Yields all accounts. Each is followed by its projects, and each project by its stores. */
  async function* allRecords(): AsyncGenerator<{ account: Account; record?: SecretHolder }> {
    for await (const account of recordsOf((page) => storage.listAccounts(page))) {
      const { account_id } = account
      yield { account }
      for await (const project of recordsOf((page) => storage.listProjects(account_id, page))) {
        yield { account, record: project }
        for await (const store of recordsOf((page) => storage.listStores(project.id, page))) {
          yield { account, record: store }
        }
      }
    }
  }

  /** Yields the first 1,000 records, or 16 MiB of configuration, because parsing takes time. */
  async function* firstRecords() {
    let bytes = 0
    for await (const found of allRecords()) {
      if (bytes >= CHECKED_BYTES) return
      bytes += Math.max(LEAST_BYTES, configBytes(found.record))
      yield found
    }
  }

  const replaceKeyCheck = (values: readonly string[]) =>
    storage.insertAudit({ keyChecks: [{ values, isReplaced: true }] })

  /** Throws without a master key: every encrypted secret would count as unreadable. */
  const assertMasterKey = () => {
    if (sealer.isOn) return
    throw new TypeError('what no master key opens cannot be told without one: see masterKeys')
  }

  const operator: Operator = {
    async ready() {
      try {
        const started = context.now()
        const clock = await storage.ping()
        if (clock === undefined) return { clock_offset: undefined }
        return { clock_offset: ((started + context.now()) / 2 - clock) / 1000 }
      } catch (cause) {
        const unanswered = new TillError('storage_unavailable', 'The storage does not answer')
        unanswered.cause = cause
        throw unanswered
      }
    },
    size: async () => storage.size?.(),
    poolState: () => storage.poolState?.(),
    openTransaction: async () => storage.findOpenTransaction?.(),
    nearQuotas: () => context.rowQuotas.near(),
    check: () => storage.check(),

    async backup(path) {
      if (storage.backup) return storage.backup(path)
      throw new TillError('invalid_request', 'Only a database file can be backed up this way')
    },

    async listAudit(query) {
      const { account_id, limit, cursor } = parseObject(query, auditFields)
      return storage.listAudit(account_id, pageFor({ limit, cursor }))
    },

    async followAudit(query) {
      const { account_id, limit, cursor } = parseFollowQuery(query)
      const { entries, position } = await storage.listSettled(pageFor({ limit, cursor }))
      const own = entries.filter((entry) => (account_id ?? entry.account_id) === entry.account_id)
      const shown = own.map(({ seq: _, ...entry }) => entry)
      return { entries: shown, next: position, isLast: entries.length < limit }
    },

    allAudit: (query) => listAll((page) => operator.listAudit({ ...query, ...page }), 'entries'),

    async archiveAudit(archive, { onProgress, signal, ...options } = {}) {
      const { before, file } = parseObject(archive, archiveFields)
      if (before > context.now() - ARCHIVED_AFTER_MS) {
        throw invalidField('before', 'invalid', 'must be at least one hour ago')
      }
      const time = formatInstant(before)
      const write = auditedWrite(context, undefined, 'audit.archive', time, options)
      const stopped_before = context.now() - NEEDED_MS
      return storage.archiveAudit({ before: time, file, write, stopped_before, onProgress, signal })
    },

    async rotateSigningKeys({ drop: mode = 'unneeded', ...options } = {}) {
      return keyring.rotate(mode, (key, drop) => {
        const write = auditedWrite(context, undefined, 'signing_keys.rotate', key.kid, options)
        return storage.rotateSigningKeys(key, drop, write)
      })
    },

    listSigningKeys: () => keyring.list(),

    async assertSecretsOpen() {
      for await (const { record } of firstRecords()) {
        const [first] = record ? findUnreadable(record, sealer) : []
        if (!first) continue
        const { field, store_id, project_id } = first
        const holder =
          store_id === undefined ? project_id : `the store ${store_id} of ${project_id}`
        const message = `No master key in TILLKIT_MASTER_KEY opens the ${field} of ${holder}`
        throw new TillError('master_key_mismatch', message)
      }
    },

    requireMasterKey: () => storage.insertAudit({ keyChecks: [{ values: sealer.checkValues }] }),

    async listUnsealedSecrets() {
      const unsealed: StoredSecret[] = []
      for await (const { record } of firstRecords()) {
        if (record) unsealed.push(...findSecrets(record, (stored) => typeof stored === 'string'))
      }
      return unsealed
    },

    async sealSecrets(options) {
      let sealed = 0
      let unreadable = 0
      const seal = (current: SecretHolder) => sealSecrets(current, sealer)
      for await (const { account, record } of allRecords()) {
        if (!record) continue
        unreadable += findUnreadable(record, sealer).length
        if (seal(record) === record) continue
        await updateConfigured(context, account, 'secrets.seal', record, seal, options)
        sealed++
      }
      for await (const endpoint of recordsOf((page) =>
        storage.listEndpoints({ all: true }, page),
      )) {
        const renew = (current: StoredEndpoint) => renewEndpoint(sealer, current)
        if (!isSameJson(renew(endpoint), endpoint)) {
          await storage.updateEndpoint(endpoint.endpoint_id, renew)
        }
      }
      if (sealer.isOn && unreadable === 0) {
        await operator.requireMasterKey()
        await replaceKeyCheck(sealer.checkValues)
      }
      const { digestPrefix } = sealer
      const idempotency_records = digestPrefix ? await storage.clearFingerprints(digestPrefix) : 0
      await storage.forget?.()
      return { sealed, unreadable, idempotency_records }
    },

    async listUnreadableSecrets() {
      assertMasterKey()
      const unreadable: StoredSecret[] = []
      for await (const { record } of allRecords()) {
        if (record) unreadable.push(...findUnreadable(record, sealer))
      }
      return unreadable
    },

    async dropUnreadableSecrets(options) {
      assertMasterKey()
      const dropped: StoredSecret[] = []
      let hasSealed = false
      const drop = (current: SecretHolder) => dropUnreadable(current, sealer)
      for await (const { account, record } of allRecords()) {
        if (!record) continue
        hasSealed ||= findSecrets(drop(record), isSealed).length > 0
        const unreadable = findUnreadable(record, sealer)
        if (unreadable.length === 0) continue
        await updateConfigured(context, account, 'secrets.drop', record, drop, options)
        dropped.push(...unreadable)
      }
      await replaceKeyCheck(hasSealed ? sealer.checkValues : [])
      return dropped
    },
  }
  return operator
}

const ARCHIVED_AFTER_MS = 3_600_000
/** An archive run ignores endpoints that were stopped or failing for longer than this. */
const NEEDED_MS = 30 * 86_400_000

const CHECKED_BYTES = 16 * 1024 ** 2
const LEAST_BYTES = CHECKED_BYTES / 1_000
