import type { JsonSchema } from '../../lib/domain/fields.ts'
import type { FieldInfo } from './fields.tsx'
import type { Parsed } from './form.tsx'

/** The rules of the fields of a record. */
type Rules = { readonly [name: string]: { readonly schema: JsonSchema } }

interface OwnFields {
  /** Additions to the schemas, by field. `false` leaves a field out. */
  readonly [name: string]: Partial<FieldInfo> | false
}

/**
 * The fields of a form, from the JSON Schemas of the rules that validate them. `path` is the object
 * that has them, such as `config.`.
 */
export function fieldsOf(rules: Rules, own: OwnFields = {}, path = ''): FieldInfo[] {
  const wanted = Object.entries(rules).filter(([name]) => own[name] !== false)
  return wanted.map(([name, { schema }]) => ({
    ...{ label: labelOf(name), name: path + name },
    ...fieldOf(schema),
    ...own[name],
  }))
}

function fieldOf(schema: JsonSchema): Partial<FieldInfo> {
  const { type, description, maxLength = 0 } = schema
  const options = (schema.enum ?? (schema.const && [schema.const])) as string[] | undefined
  const hint = (description as string | undefined)?.replaceAll('`', '')
  if (options) return { hint, options }
  if (type === 'boolean') return { hint, kind: 'check' }
  if (type === 'object') return { hint, kind: 'json' }
  if (type === 'array') return { hint: 'Separated by commas', parse: parseList }
  return { hint, kind: (maxLength as number) > 1024 ? 'long' : 'text' }
}

const parseList = (typed: string) =>
  typed.split(',').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))

/** The choice of a status. A record may have any other one too. */
export function statusField({ status }: { readonly status: string }): Partial<FieldInfo> {
  const known = ['active', 'disabled', 'archived']
  const hint = 'A disabled or archived one opens no sessions and takes no purchases.'
  return { hint, options: [...new Set([...known, status])] }
}

/** `bundle_id` is `Bundle id`, and `created_at` is `Created`. */
export function labelOf(name: string): string {
  if (name === 'at') return 'Time'
  return name
    .replace(/_at$/, '')
    .replaceAll('_', ' ')
    .replace('sku', 'SKU')
    .replace(/^./, (letter) => letter.toUpperCase())
    .replace(/ url$/, ' URL')
}

/**
 * The fields of a configuration, which is the field `name` of the API. Secrets can be set and
 * removed, but never read. `set` has the names of the stored ones. The page of webhooks has the
 * fields of webhooks.
 */
export function configFields(
  name: string,
  schema: JsonSchema,
  secrets: readonly string[],
  set: readonly string[],
): FieldInfo[] {
  const all = Object.entries(schema.properties as { readonly [key: string]: JsonSchema })
  const shown = all.filter(([key]) => !key.startsWith('webhook_'))
  const rules = Object.fromEntries(shown.map(([key, schema]) => [key, { schema }]))
  const fields = fieldsOf(rules, {}, `${name}.`)
  const rest = { label: 'Other settings', name, kind: 'json', hint: 'A JSON object.' } as const
  return [
    ...fields.flatMap((field): FieldInfo[] => {
      const key = field.name.slice(name.length + 1)
      if (!secrets.includes(key)) return [{ ...field, isOptional: true }]
      const isSet = set.includes(key)
      const hint = isSet ? 'Set, and never shown. Empty keeps it.' : 'Not set.'
      const remove = { label: `Remove the ${field.label.toLowerCase()}`, kind: 'check' } as const
      return [
        { ...field, kind: 'password', hint, isOptional: true },
        ...(isSet ? [{ ...remove, name: `${field.name}.remove` }] : []),
      ]
    }),
    rest,
  ]
}

type Config = { readonly [key: string]: unknown }

/** Splits a configuration into the settings that have a field, those of webhooks, and the others. */
function split(name: string, config: object, fields: readonly FieldInfo[]) {
  const hasField = (key: string) => fields.some((field) => field.name === `${name}.${key}`)
  const kindOf = (key: string) => {
    if (key.startsWith('webhook_')) return 'webhook'
    return hasField(key) ? 'own' : 'other'
  }
  const pick = (kind: string) =>
    Object.fromEntries(Object.entries(config).filter(([key]) => kindOf(key) === kind))
  return { own: pick('own'), webhook: pick('webhook'), other: pick('other') }
}

/** The values of the fields of a configuration. */
export function configValues(name: string, config: object, fields: readonly FieldInfo[]): Config {
  const { own, other } = split(name, config, fields)
  const entries = Object.entries(own).map(([key, value]) => [`${name}.${key}`, value])
  return { ...Object.fromEntries(entries), [name]: other }
}

/** The changes to send: changed settings become a whole configuration. */
export function withConfig(
  changes: Parsed,
  name: string,
  stored: object,
  fields: readonly FieldInfo[],
): Parsed {
  const entries = Object.entries(changes)
  const isSetting = ([key]: [string, unknown]) => key.startsWith(`${name}.`)
  if (!(name in changes || entries.some(isSetting))) return changes
  const { own, webhook, other } = split(name, stored, fields)
  const config: { [key: string]: unknown } = { ...own, ...webhook, ...(changes[name] ?? other) }
  for (const [key, value] of entries.filter(isSetting)) {
    const [, setting = '', isRemoval] = key.split('.')
    if (isRemoval) config[setting] = null
    else if (value === undefined) delete config[setting]
    else config[setting] = value
  }
  return { ...Object.fromEntries(entries.filter((entry) => !isSetting(entry))), [name]: config }
}
