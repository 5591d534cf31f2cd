import type { JsonSchema } from '../../lib/domain/rules.ts'
import { INACTIVE } from '../../lib/domain/status.ts'
import { labelOf } from '../format.ts'
import type { FieldInfo } from './fields.tsx'
import type { Parsed } from './form.tsx'

type Rule = { readonly schema: JsonSchema }

/** The rules of the fields of a record. */
type Rules = { readonly [name: string]: Rule }

/** Additions to the schemas, by field. `false` leaves a field out. */
export type OwnFields = { readonly [name: string]: Partial<FieldInfo> | false }

/** The fields of a form, from the JSON Schemas of the rules that validate them. */
export function fieldsOf(rules: Rules, own: OwnFields = {}): FieldInfo[] {
  const wanted = Object.entries(rules).filter(([name]) => own[name] !== false)
  return wanted.map(([name, { schema }]) => ({
    label: labelOf(name),
    name,
    ...fieldOf(schema),
    ...own[name],
  }))
}

function fieldOf(schema: JsonSchema): Partial<FieldInfo> {
  const { type, description, maxLength = 0 } = schema
  const values = (schema.enum ?? (schema.const && [schema.const])) as string[] | undefined
  const options = values?.filter((each) => each !== 'adroid') // a misspelling of the specification
  const hint = (description as string | undefined)?.replaceAll('`', '')
  if (options) return { hint, options }
  if (type === 'boolean') return { hint, kind: 'check' }
  if (type === 'object') return { hint, kind: 'json' }
  if (type === 'array') return { hint: 'Separated by commas', parse: parseList }
  const kind = (maxLength as number) > 1024 ? 'long' : 'text'
  // The type of a field that may be null is an array. Empty is null.
  return { hint, kind, ...(Array.isArray(type) && { parse: (typed: string) => typed || null }) }
}

const parseList = (typed: string) =>
  typed.split(',').flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))

/** The choice of a status. */
export const STATUS: Partial<FieldInfo> = {
  hint: 'Unless active, it opens no sessions and takes no purchases.',
  options: ['active', ...INACTIVE],
}

/**
 * The fields of a configuration, which is the field `name` of the API. Secrets can be set and
 * removed, but never read. `set` has the names of the stored ones. The page of webhooks has the
 * fields of webhooks.
 */
export function settingFields(
  name: string,
  { schema }: Rule,
  secrets: readonly string[],
  set: readonly string[] = [],
  own: OwnFields = {},
): FieldInfo[] {
  const all = Object.entries(schema.properties as { readonly [key: string]: JsonSchema })
  const shown = all.filter(([key]) => !key.startsWith('webhook_') && !WITHOUT_EFFECT.includes(key))
  const rules = Object.fromEntries(shown.map(([key, schema]) => [key, { schema }]))
  return fieldsOf(rules, own).flatMap((field) => {
    const setting = { ...field, name: `${name}.${field.name}`, isOptional: true }
    return secrets.includes(field.name)
      ? secretFields(setting, set.includes(field.name))
      : [setting]
  })
}

/** Settings that only inform. */
const WITHOUT_EFFECT: readonly string[] = ['test_mode', 'sandbox_enabled']

/** The field of a secret, and one that removes the stored secret. */
function secretFields(field: FieldInfo, isSet: boolean): FieldInfo[] {
  const hint = isSet ? 'Set, and never shown. Empty keeps it.' : 'Not set.'
  const secret: FieldInfo = { ...field, hint, kind: 'password' }
  const removal = `Remove the stored ${field.label.toLowerCase()}`
  return isSet
    ? [secret, { label: removal, name: `${field.name}.remove`, kind: 'check' }]
    : [secret]
}

/**
 * Returns the changes as the API takes them: changed settings, such as `config.currency`, become a
 * whole configuration. A setting that is undefined is removed.
 */
export function withSettings(changes: Parsed, base: object): Parsed {
  const input: { [name: string]: unknown } = {}
  for (const [field, value] of Object.entries(changes)) {
    const [name = '', key, isRemoval] = field.split('.')
    if (key === undefined) input[name] = value
    else {
      const { [key]: _, ...others } = (input[name] ?? base[name as keyof typeof base]) as Parsed
      input[name] = value === undefined ? others : { ...others, [key]: isRemoval ? null : value }
    }
  }
  return input
}
