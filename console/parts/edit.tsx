import { useState } from 'preact/hooks'
import { TillError } from '../../client/manage.ts'
import type { FieldInfo } from './fields.tsx'
import { Form, type Parsed, type Values } from './form.tsx'
import { Notice } from './notice.tsx'
import { withSettings } from './rules.ts'

export interface EditProps<R> {
  readonly label: string
  readonly record: R
  readonly fields: readonly FieldInfo[]
  /** The record with the names and units of the input, if they differ. */
  readonly inputOf?: (record: R) => object
  readonly load: () => Promise<R>
  /** Throws the mistakes that the library finds in the changes. */
  readonly check: (changes: Parsed, base: R) => unknown
  /** Saves the fields that were changed, unless the record differs from `base`. */
  readonly save: (changes: Parsed, base: R) => Promise<R>
  /** Called after a save, and when the person gives up. */
  readonly onDone?: (() => void) | undefined
}

const CONFLICTS: readonly string[] = ['version_conflict', 'etag_mismatch']

/**
 * A form that changes a record. If somebody else has changed its fields since it was read, the
 * server saves nothing, and the form says what changed. It keeps what was typed.
 */
export function Edit<R extends object>(props: EditProps<R>) {
  const { label, fields, inputOf = (record) => record, load, check, save, onDone } = props
  const textsOf = (record: R): Values =>
    Object.fromEntries(fields.map(({ name }) => [name, textOf(valueAt(inputOf(record), name))]))
  /** The record that the changes are based on. */
  const [base, setBase] = useState(props.record)
  const [values, setValues] = useState(() => textsOf(base))
  const [isSaved, setSaved] = useState(false)
  const before = textsOf(base)
  const changed = (now: Values) => fields.filter(({ name }) => before[name] !== now[name])
  const changesOf = (parsed: Parsed, base: R) => {
    const entries = changed(values).map(({ name }) => [name, parsed[name]])
    return withSettings(Object.fromEntries(entries), base)
  }
  const rebase = (now: R, typed: Values = {}) => {
    setBase(now)
    setValues({ ...textsOf(now), ...typed })
  }
  const saveOver = async (parsed: Parsed): Promise<R> => {
    try {
      return await save(changesOf(parsed, base), base)
    } catch (error) {
      if (!(error instanceof TillError && CONFLICTS.includes(error.code))) throw error
      const now = await load()
      const theirs = textsOf(now)
      const details = changed(theirs).map(({ name }) => {
        const message = `was ${before[name] || 'empty'} and is now ${theirs[name] || 'empty'}`
        return { field: name, code: 'changed', message }
      })
      if (details.length === 0) return save(changesOf(parsed, now), now)
      rebase(now, Object.fromEntries(changed(values).map(({ name }) => [name, values[name] ?? ''])))
      throw new TillError(error.code, 'Somebody else changed this. Nothing was saved', { details })
    }
  }
  const send = async (parsed: Parsed) => {
    setSaved(false)
    rebase(await saveOver(parsed))
    setSaved(true)
    onDone?.()
  }
  const change = (values: Values) => {
    setSaved(false)
    setValues(values)
  }
  return (
    <Form
      label={label}
      fields={fields}
      values={values}
      send={send}
      check={(parsed) => check(changesOf(parsed, base), base)}
      onChange={change}
      onCancel={onDone}
    >
      {isSaved && (
        <Notice
          tone="good"
          title={'version' in base ? `Saved as version ${base.version}` : 'Saved'}
        />
      )}
    </Form>
  )
}

/** The value of a field, such as `config.currency`. */
function valueAt(record: object, name: string): unknown {
  const [field = '', setting] = name.split('.')
  const value = record[field as keyof typeof record] as Parsed | undefined
  return setting === undefined ? value : value?.[setting]
}

/** The text of a value as a person types it. */
function textOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  if (typeof value === 'boolean') return value ? 'true' : ''
  if (Array.isArray(value)) return value.join(', ')
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
}
