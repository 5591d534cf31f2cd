import { DEFAULT_QUOTAS, PLATFORMS } from '../lib/index.ts'
import { UsageError } from './command-errors.ts'
import { milliseconds, oneOf, type ValueParser, wholeNumber } from './option-values.ts'

export type Environment = { readonly [name: string]: string | undefined }

/** The options of `createTill` that the environment sets. */
export type Config = ReturnType<typeof readConfig>

/** Every environment variable that tillkit reads, with its help text. */
export const VARIABLES: { readonly [name: string]: string } = {
  TILLKIT_DB: 'the database, as --db',
  TILLKIT_ACCOUNT: 'the account, as --account',
  TILLKIT_STORE: 'the store, as --store',
  TILLKIT_PUBLIC_KEY: 'the public key of a project, as --public-key of conformance',
  TILLKIT_ACCOUNT_KEY: 'the key of an account, as --account-key of conformance',
  HOST: 'the address of serve, as --host',
  PORT: 'the port of serve, as --port',
  TILLKIT_TOKEN_SECRET: 'signs tokens in place of the keys in the database; at least 32 bytes',
  TILLKIT_TOKEN_LIFETIME: 'seconds that a token is valid, 60 to 86400; default 3600',
  TILLKIT_MASTER_KEY: 'seals stored secrets: 32 bytes, as 64 hex digits or in base64',
  TILLKIT_MASTER_KEY_PREVIOUS: 'older master keys, separated by commas; they only open secrets',
  TILLKIT_LOCKDOWN: 'on: as --lockdown of serve',
  TILLKIT_PLATFORMS: 'the platforms that projects may have, separated by commas',
  TILLKIT_QUOTA_PROJECTS: 'how many projects an account may have; default 1000',
  TILLKIT_QUOTA_KEYS: 'how many keys an account may have; default 1000',
  TILLKIT_QUOTA_STORES: 'how many stores a project may have; default 250',
  TILLKIT_QUOTA_ITEMS: 'how many items an account may have; serve only; default 100000',
  TILLKIT_QUOTA_PURCHASES: 'how many purchases an account may have; serve only; default 20000000',
  TILLKIT_QUOTA_CONFIG: 'bytes of config and store_config of an account; default 67108864',
  TILLKIT_WEBHOOK_RETRIES:
    'seconds before each retry of a webhook; default 5,30,120,900,3600,21600',
  TILLKIT_WEBHOOK_GIVE_UP: 'seconds until a webhook fails for good; default 259200',
  TILLKIT_CORS_ORIGIN: 'as --cors-origin of serve; several separated by commas',
}

/** Parses the environment variables. Throws a UsageError that names the invalid variable. */
export function readConfig(environment: Environment) {
  const set = (name: string) => environment[name] || undefined
  const parse = <T>(name: string, parser: ValueParser<T>) => {
    const text = set(name)
    return text === undefined ? undefined : parser(text, name)
  }
  const quota = (name: string) => parse(`TILLKIT_QUOTA_${name}`, wholeNumber())
  const secret = set('TILLKIT_TOKEN_SECRET')
  if (secret !== undefined && Buffer.byteLength(secret) < 32) {
    throw new UsageError('TILLKIT_TOKEN_SECRET must have at least 32 bytes')
  }
  return {
    tokenSecret: secret,
    /** The lifetime of a token in milliseconds. */
    tokenLifetime: parse('TILLKIT_TOKEN_LIFETIME', milliseconds(60, 86_400)),
    platforms: platformsOf(set('TILLKIT_PLATFORMS')),
    /** The master keys, newest first. */
    masterKeys: parseMasterKeys(set('TILLKIT_MASTER_KEY'), set('TILLKIT_MASTER_KEY_PREVIOUS')),
    lockdown: parse('TILLKIT_LOCKDOWN', oneOf('on', 'off')) === 'on',
    quotas: {
      projects: quota('PROJECTS') ?? DEFAULT_QUOTAS.projects,
      keys: quota('KEYS') ?? DEFAULT_QUOTAS.keys,
      storesPerProject: quota('STORES') ?? DEFAULT_QUOTAS.storesPerProject,
      items: quota('ITEMS') ?? DEFAULT_QUOTAS.items,
      purchases: quota('PURCHASES') ?? DEFAULT_QUOTAS.purchases,
      configBytes: quota('CONFIG') ?? DEFAULT_QUOTAS.configBytes,
    },
    webhooks: {
      retries: parse('TILLKIT_WEBHOOK_RETRIES', secondsList),
      giveUpAfter: parse('TILLKIT_WEBHOOK_GIVE_UP', seconds),
    },
  }
}

const MAX_SECONDS = 30 * 86_400
const seconds = milliseconds(1, MAX_SECONDS)
const secondsList: ValueParser<number[]> = (text, name) =>
  text.split(',').map((each) => seconds(each.trim(), name))

function platformsOf(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((each) => each.trim())
  const known: readonly string[] = PLATFORMS
  // Rejects unknown names: a mistyped one would leave its platform out of the allowed list.
  if (names?.every((name) => known.includes(name)) ?? true) return names
  throw new UsageError(`TILLKIT_PLATFORMS must be some of ${PLATFORMS.join(', ')}`)
}

/** Parses the master keys. Returns them newest first. */
function parseMasterKeys(newest: string | undefined, previous: string | undefined) {
  if (newest === undefined && previous !== undefined) {
    throw new UsageError('TILLKIT_MASTER_KEY_PREVIOUS is set, and TILLKIT_MASTER_KEY is not')
  }
  const older = previous?.split(',').map((text) => parseKey('TILLKIT_MASTER_KEY_PREVIOUS', text))
  return newest === undefined ? [] : [parseKey('TILLKIT_MASTER_KEY', newest), ...(older ?? [])]
}

const HEX = /^[\da-f]{64}$/i
const BASE64 = /^[\w+/-]{43}=?$/

/** Parses a master key. The error message never quotes the key. */
function parseKey(variable: string, text: string): Uint8Array {
  const written = text.trim()
  if (HEX.test(written)) return Buffer.from(written, 'hex')
  // Node's base64 decoder also accepts base64url.
  if (BASE64.test(written)) return Buffer.from(written, 'base64')
  throw new UsageError(
    `${variable} must be 32 bytes, as 64 hex digits or in base64: openssl rand -hex 32`,
  )
}
