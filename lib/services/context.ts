import type { AuditedStorage } from '../storage/port.ts'
import type { Keyring } from '../token/keyring.ts'
import type { KeyUses } from './key-uses.ts'
import type { LongCalls } from './long-calls.ts'
import type { Quotas } from './quotas.ts'
import type { RowQuotas } from './row-quotas.ts'
import type { Sealer } from './secrets.ts'

/** The state that all services share: the storage, the clock and the settings. */
export interface Context {
  readonly storage: AuditedStorage
  /** Unix milliseconds. */
  readonly now: () => number
  readonly keyring: Keyring
  /** The platforms that a project may have. */
  readonly platforms: readonly string[]
  /** Milliseconds. */
  readonly tokenLifetime: number
  readonly issuer: string
  /** Whether tokens that clients get with a public key can only read items. */
  readonly lockdown: boolean
  readonly sealer: Sealer
  readonly quotas: Quotas
  readonly rowQuotas: RowQuotas
  readonly longCalls: LongCalls
  readonly keyUses: KeyUses
  /** The delay before each retry in milliseconds. The last value applies to all further retries. */
  readonly retries: readonly number[]
  /** The time in milliseconds after which a message is no longer retried. */
  readonly giveUpAfter: number
}
