import type { Storage } from '../storage/port.ts'
import type { Keyring } from '../token/keyring.ts'
import type { Quotas } from './quotas.ts'
import type { Sealer } from './secrets.ts'

/** What every service works with. */
export interface Context {
  readonly storage: Storage
  /** Unix milliseconds. */
  readonly now: () => number
  readonly keyring: Keyring
  /** The platforms that projects may have. */
  readonly platforms: readonly string[]
  /** Seconds that a token is valid. */
  readonly tokenLifetime: number
  readonly issuer: string
  /** Whether tokens got with a public key let their bearers read items and nothing more. */
  readonly lockdown: boolean
  readonly sealer: Sealer
  readonly quotas: Quotas
}
