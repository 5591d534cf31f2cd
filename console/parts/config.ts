import type { FieldInfo } from './fields.tsx'
import type { Parsed } from './form.tsx'

/**
 * The fields of a configuration, which is the field `name` of the API. Secrets can be set and
 * removed, but never read. `set` has the names of the stored ones.
 */
export function configFields(
  name: string,
  secrets: readonly string[],
  set: readonly string[] = [],
): readonly FieldInfo[] {
  const hint = 'A JSON object without secrets, such as currency and webhook_url.'
  const secretFields = secrets.flatMap((secret): FieldInfo[] => {
    const isSet = set.includes(secret)
    const field = { label: secret, name: `${name}.${secret}`, kind: 'password' } as const
    const remove = { ...field, label: `Remove ${secret}`, name: `${field.name}.remove` }
    return [
      { ...field, hint: isSet ? 'Set, and never shown. Empty keeps it.' : 'Not set.' },
      ...(isSet ? [{ ...remove, kind: 'check' } as const] : []),
    ]
  })
  return [{ label: 'Configuration', name, kind: 'json', hint }, ...secretFields]
}

/** The changes to send: the secrets that were typed become a part of the configuration. */
export function withSecrets(changes: Parsed, name: string, stored: object): Parsed {
  const isOther = ([key]: [string, unknown]) => !key.startsWith(`${name}.`)
  const entries = Object.entries(changes)
  const others = Object.fromEntries(entries.filter(isOther))
  if (entries.every(isOther)) return others
  const config = { ...(others[name] ?? stored) }
  for (const [key, value] of entries.filter((entry) => !isOther(entry))) {
    const [, secret = '', isRemoval] = key.split('.')
    config[secret] = isRemoval ? null : value
  }
  return { ...others, [name]: config }
}
