import { PLATFORMS } from '../lib/domain/project.ts'
import { DEFAULT_QUOTAS, type Quotas } from '../lib/index.ts'
import { UsageError } from './command.ts'
import { parseMasterKeys } from './masterkey.ts'
import { wholeNumber } from './values.ts'

/** What the environment sets; an option of the same meaning wins. */
export interface Config {
  readonly db: string
  readonly host: string
  readonly port: string
  readonly tokenSecret: string | undefined
  /** Milliseconds. */
  readonly tokenLifetime: number | undefined
  readonly platforms: readonly string[] | undefined
  readonly corsOrigins: readonly string[]
  /** Newest first. */
  readonly masterKeys: readonly Uint8Array[]
  readonly lockdown: boolean
  readonly quotas: Quotas
}

/** The variables that tillkit reads, for `--help`. */
export const VARIABLES: { readonly [name: string]: string } = {
  TILLKIT_DB: 'the database, as --db',
  HOST: 'the address of serve, as --host',
  PORT: 'the port of serve, as --port',
  TILLKIT_TOKEN_SECRET: 'signs tokens in place of the keys in the database; at least 32 bytes',
  TILLKIT_TOKEN_LIFETIME: 'seconds that a token is valid, 60 to 86400; default 3600',
  TILLKIT_MASTER_KEY: 'seals stored secrets: 32 bytes, as 64 hex digits or in base64',
  TILLKIT_MASTER_KEY_PREVIOUS: 'older ones, separated by commas: they open what they sealed',
  TILLKIT_LOCKDOWN: 'on: as --lockdown of serve',
  TILLKIT_PLATFORMS: 'the platforms that projects may have, separated by commas',
  TILLKIT_QUOTA_PROJECTS: 'how many projects an account may have; default 1000',
  TILLKIT_QUOTA_STORES: 'how many stores a project may have; default 250',
  TILLKIT_QUOTA_CONFIG: 'bytes of config and store_config of an account; default 67108864',
  TILLKIT_CORS_ORIGIN: 'as --cors-origin of serve; several separated by commas',
}

const anyNumber = wholeNumber(0)

/** The only reader of the environment. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const set = (name: string) => environment[name] || undefined
  const lifetime = set('TILLKIT_TOKEN_LIFETIME')
  const secret = set('TILLKIT_TOKEN_SECRET')
  if (lifetime !== undefined && !isLifetime(lifetime)) {
    throw new UsageError('TILLKIT_TOKEN_LIFETIME must be whole seconds from 60 to 86400')
  }
  if (secret !== undefined && Buffer.byteLength(secret) < 32) {
    throw new UsageError('TILLKIT_TOKEN_SECRET must have at least 32 bytes')
  }
  const lockdown = set('TILLKIT_LOCKDOWN') ?? 'off'
  if (lockdown !== 'on' && lockdown !== 'off') {
    throw new UsageError('TILLKIT_LOCKDOWN must be on or off')
  }
  const quotaOf = (name: string, normal: number) => {
    const text = set(name)
    return text === undefined ? normal : anyNumber(text, name)
  }
  return {
    db: set('TILLKIT_DB') ?? 'tillkit.db',
    host: set('HOST') ?? '127.0.0.1',
    port: set('PORT') ?? '3000',
    tokenSecret: secret,
    tokenLifetime: lifetime === undefined ? undefined : 1000 * Number(lifetime),
    platforms: platformsOf(set('TILLKIT_PLATFORMS')),
    corsOrigins: listOf(set('TILLKIT_CORS_ORIGIN')) ?? [],
    masterKeys: parseMasterKeys(set('TILLKIT_MASTER_KEY'), set('TILLKIT_MASTER_KEY_PREVIOUS')),
    lockdown: lockdown === 'on',
    quotas: {
      projects: quotaOf('TILLKIT_QUOTA_PROJECTS', DEFAULT_QUOTAS.projects),
      storesPerProject: quotaOf('TILLKIT_QUOTA_STORES', DEFAULT_QUOTAS.storesPerProject),
      configBytes: quotaOf('TILLKIT_QUOTA_CONFIG', DEFAULT_QUOTAS.configBytes),
    },
  }
}

function listOf(text: string | undefined): string[] | undefined {
  return text?.split(',').map((each) => each.trim())
}

// The setting narrows the specification's list: it adds none to it, and a typo would close a
// platform.
function platformsOf(text: string | undefined): string[] | undefined {
  const names = listOf(text)
  const known: readonly string[] = PLATFORMS
  if (names?.every((name) => known.includes(name)) ?? true) return names
  throw new UsageError(`TILLKIT_PLATFORMS must be some of ${PLATFORMS.join(', ')}`)
}

function isLifetime(text: string): boolean {
  return /^\d{2,5}$/.test(text) && Number(text) >= 60 && Number(text) <= 86_400
}
