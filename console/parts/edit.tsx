import { useState } from 'preact/hooks'
import { TillError } from '../../client/manage.ts'
import type { JsonSchema } from '../../lib/domain/fields.ts'
import type { FieldInfo } from './fields.tsx'
import { Form, type Parsed, type Values } from './form.tsx'
import { Notice } from './notice.tsx'
import { Section } from './page.tsx'
import { configFields, configValues, withConfig } from './rules.ts'
import { Table } from './table.tsx'

interface EditProps<R> {
  readonly label: string
  readonly record: R
  readonly fields: readonly FieldInfo[]
  /** The fields of a record as they are typed. */
  readonly typedOf: (record: R) => Values
  readonly load: () => Promise<R>
  /** Throws the mistakes that the library finds in the changes. */
  readonly check: (changes: Parsed, base: R) => unknown
  /** Saves the fields that were changed, unless the record differs from `base`. */
  readonly save: (changes: Parsed, base: R) => Promise<R>
  readonly onSaved: () => void
}

const CONFLICTS: readonly string[] = ['version_conflict', 'etag_mismatch']

/**
 * A form that changes a record. If somebody else has changed it since it was read, the server saves
 * nothing, and the form shows both versions.
 */
export function Edit<R extends object>(props: EditProps<R>) {
  const { label, fields, typedOf, load, check, save, onSaved } = props
  /** The record that the changes are based on. */
  const [base, setBase] = useState(props.record)
  const [values, setValues] = useState(() => typedOf(base))
  const [newest, setNewest] = useState<R>()
  const [isSaved, setSaved] = useState(false)
  const changesOf = (from: Values, to: Values) =>
    fields.filter(({ name }) => (from[name] ?? '') !== (to[name] ?? ''))
  const changedOf = (parsed: Parsed) =>
    Object.fromEntries(changesOf(typedOf(base), values).map(({ name }) => [name, parsed[name]]))
  const send = async (parsed: Parsed) => {
    setSaved(false)
    const saved = await saveOver(base, parsed)
    if (!saved) return false
    setBase(saved)
    setValues(typedOf(saved))
    setSaved(true)
    onSaved()
    return true
  }
  /** Saves the changes, unless the record has changed since `read`. */
  const saveOver = async (read: R, parsed: Parsed, isRepeated = false): Promise<R | undefined> => {
    try {
      return await save(changedOf(parsed), read)
    } catch (error) {
      if (!(error instanceof TillError && CONFLICTS.includes(error.code))) throw error
      const now = await load()
      const isSame = changesOf(typedOf(base), typedOf(now)).length === 0
      if (isSame && isRepeated) throw error
      if (isSame) return saveOver(now, parsed, true)
      setNewest(now)
      return undefined
    }
  }
  const resolve = (now: R, values: Values) => {
    setBase(now)
    setValues(values)
    setNewest(undefined)
  }
  const change = (values: Values) => {
    setSaved(false)
    setValues(values)
  }
  return (
    <Section title="Edit">
      <Form
        {...{ label, fields, values, send }}
        check={(parsed) => check(changedOf(parsed), base)}
        onChange={change}
      >
        {newest && (
          <Conflict
            theirs={changesOf(typedOf(base), typedOf(newest))}
            mine={changesOf(typedOf(base), values)}
            {...{ before: typedOf(base), now: typedOf(newest), values }}
            onResolve={(values) => resolve(newest, values)}
          />
        )}
        {isSaved && (
          <Notice
            tone="good"
            title={'version' in base ? `Saved as version ${base.version}` : 'Saved'}
          />
        )}
      </Form>
    </Section>
  )
}

interface ConfiguredProps<R> extends Omit<EditProps<R>, 'typedOf'> {
  /** The field of the configuration. */
  readonly name: string
  readonly config: (record: R) => object
  readonly schema: JsonSchema
  readonly secrets: readonly string[]
}

/** A form that changes a record and the settings of its configuration. */
export function EditConfigured<R extends { readonly secrets?: readonly string[] }>(
  props: ConfiguredProps<R>,
) {
  const { name, config, schema, secrets, check, save, ...rest } = props
  const settings = configFields(name, schema, secrets, props.record.secrets ?? [])
  const inputOf = (changes: Parsed, base: R) => withConfig(changes, name, config(base), settings)
  return (
    <Edit
      {...rest}
      fields={[...props.fields, ...settings]}
      typedOf={(record) => textsOf({ ...record, ...configValues(name, config(record), settings) })}
      check={(changes, base) => check(inputOf(changes, base), base)}
      save={(changes, base) => save(inputOf(changes, base), base)}
    />
  )
}

interface ConflictProps {
  readonly theirs: readonly FieldInfo[]
  readonly mine: readonly FieldInfo[]
  readonly before: Values
  readonly now: Values
  readonly values: Values
  readonly onResolve: (values: Values) => void
}

/** Shows what somebody else changed meanwhile. Nothing that was typed is lost. */
function Conflict({ theirs, mine, before, now, values, onResolve }: ConflictProps) {
  const kept = Object.fromEntries(mine.map(({ name }) => [name, values[name] ?? '']))
  return (
    <Notice tone="warning" title="Somebody else changed this meanwhile">
      <p>Nothing was saved. Compare both versions:</p>
      <Table
        label="Both versions"
        rows={[...new Set([...theirs, ...mine])]}
        keyOf={({ name }) => name}
        columns={[
          ['Field', ({ label }) => label],
          ['Before', ({ name }) => before[name] || 'empty'],
          ['Theirs', ({ name }) => now[name] || 'empty'],
          ['Yours', ({ name }) => values[name] || 'empty'],
        ]}
      />
      <div class="actions">
        <button type="button" class="primary" onClick={() => onResolve({ ...now, ...kept })}>
          Take their changes, keep mine
        </button>
        <button type="button" onClick={() => onResolve(now)}>
          Discard my changes
        </button>
      </div>
    </Notice>
  )
}

/** The fields of a record as they are typed, without changes of names and units. */
export function textsOf(record: object): Values {
  const textOf = (value: unknown) => {
    if (typeof value === 'boolean') return value ? 'true' : ''
    if (Array.isArray(value)) return value.join(', ')
    return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
  }
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, textOf(value)]))
}
