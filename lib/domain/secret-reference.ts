import type { ErrorDetail } from '../errors.ts'
import { isObject, type JsonObject } from './json.ts'
import type { JsonSchema } from './rules.ts'
import { hasOtherUrl } from './webhook-settings.ts'

/** Stands in a catalog for a secret: `env` is the name of the environment variable that has it. */
export interface SecretReference {
  readonly env: string
}

/** The schema of a secret in a catalog file; `null` removes the stored one. */
export const SECRET_REFERENCE: JsonSchema = {
  description: 'A reference to the environment variable that holds the secret.',
  oneOf: [
    { type: 'null' },
    {
      type: 'object',
      properties: { env: { type: 'string', pattern: '^[A-Za-z_][A-Za-z0-9_]{0,254}$' } },
      required: ['env'],
      additionalProperties: false,
    },
  ],
}

/**
 * The reference that an export writes in place of a secret: it names an environment variable. An id
 * with dots gets a suffix with their places: `main.eu` and `main_eu` must not share a variable.
 */
export function secretReference(owner: string, key: string): SecretReference {
  const name = `${owner}_${key}`.toUpperCase().replaceAll(/[^A-Z0-9_]/g, '_')
  const dots = [...owner.matchAll(/[.]/g)].map(({ index }) => `_${index}`)
  return { env: dots.length === 0 ? name : `${name}_DOT${dots.join('')}` }
}

/**
 * Replaces each reference to a secret by the value of its environment variable. If the variable is
 * not set, keeps the secret in `stored`, the stored configuration, and adds the variable to `unset`.
 * `names` are the keys that hold secrets, and `path` is the JSON path of the configuration.
 */
export function resolveSecrets(
  config: JsonObject | undefined,
  names: readonly string[],
  stored: JsonObject,
  path: string,
  { env, unset, problems }: FoundSecrets,
): JsonObject | undefined {
  if (!config) return undefined
  const resolved = { ...config }
  const isForOtherUrl = (name: string) =>
    name === 'webhook_secret' && Object.hasOwn(stored, name) && hasOtherUrl(config, stored)
  for (const name of names) {
    const reference = config[name]
    if (reference === undefined || reference === null) continue
    const field = `${path}.${name}`
    if (!isReference(reference)) {
      const message = 'must be a reference to a variable: {"env": "NAME"}'
      problems.push({ field, code: 'invalid', message })
      continue
    }
    const value = env[reference.env]
    if (value !== undefined && value !== '') resolved[name] = value
    else if (Object.hasOwn(stored, name) && !isForOtherUrl(name)) {
      delete resolved[name] // `replaceConfig` then keeps the stored secret
      unset.push(reference.env)
    } else {
      const reason = isForOtherUrl(name) ? ': a new webhook_url does not keep the old secret' : ''
      const message = `needs the variable ${reference.env}, which is not set${reason}`
      problems.push({ field, code: 'required', message })
    }
  }
  return resolved
}

interface FoundSecrets {
  readonly env: { readonly [name: string]: string | undefined }
  readonly unset: string[]
  readonly problems: ErrorDetail[]
}

function isReference(value: unknown): value is SecretReference {
  return (
    isObject(value) &&
    typeof value.env === 'string' &&
    /^[A-Za-z_]\w{0,254}$/.test(value.env) &&
    Object.keys(value).length === 1
  )
}
