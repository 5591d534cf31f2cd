import { useState } from 'preact/hooks'
import { TillError } from '../../client/manage.ts'
import type { FieldInfo } from './fields.tsx'
import { Form, type Parsed, type Values } from './form.tsx'
import { Notice } from './notice.tsx'
import { withSettings } from './rules.ts'
import { Table } from './table.tsx'

interface EditProps<R> {
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
  readonly onDone?: () => void
}

const CONFLICTS: readonly string[] = ['version_conflict', 'etag_mismatch']

/**
 * A form that changes a record. If somebody else has changed it since it was read, the server saves
 * nothing, and the form shows both versions.
 */
export function Edit<R extends object>(props: EditProps<R>) {
  const { label, fields, inputOf = (record) => record, load, check, save, onDone } = props
  const textsOf = (record: R): Values =>
    Object.fromEntries(fields.map(({ name }) => [name, textOf(valueAt(inputOf(record), name))]))
  /** The record that the changes are based on. */
  const [base, setBase] = useState(props.record)
  const [values, setValues] = useState(() => textsOf(base))
  const [newest, setNewest] = useState<R>()
  const [isSaved, setSaved] = useState(false)
  const before = textsOf(base)
  const changed = (now: Values) => fields.filter(({ name }) => before[name] !== now[name])
  const changesOf = (parsed: Parsed, base: R) => {
    const entries = changed(values).map(({ name }) => [name, parsed[name]])
    return withSettings(Object.fromEntries(entries), base)
  }
  /** Saves the changes, unless another form has changed the same fields since `read`. */
  const saveOver = async (read: R, parsed: Parsed, isRepeated = false): Promise<R | undefined> => {
    try {
      return await save(changesOf(parsed, read), read)
    } catch (error) {
      if (!(error instanceof TillError && CONFLICTS.includes(error.code))) throw error
      const now = await load()
      const isSame = changed(textsOf(now)).length === 0
      if (isSame && isRepeated) throw error
      if (isSame) return saveOver(now, parsed, true)
      setNewest(now)
      return undefined
    }
  }
  const rebase = (now: R, values: Values) => {
    setBase(now)
    setValues(values)
    setNewest(undefined)
  }
  const send = async (parsed: Parsed) => {
    setSaved(false)
    const saved = await saveOver(base, parsed)
    if (!saved) return false
    rebase(saved, textsOf(saved))
    setSaved(true)
    onDone?.()
    return true
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
      {newest && (
        <Conflict
          before={before}
          theirs={textsOf(newest)}
          yours={values}
          changed={changed}
          onResolve={(values) => rebase(newest, values)}
        />
      )}
      {isSaved && (
        <Notice
          tone="good"
          title={'version' in base ? `Saved as version ${base.version}` : 'Saved'}
        />
      )}
    </Form>
  )
}

interface ConflictProps {
  readonly before: Values
  readonly theirs: Values
  readonly yours: Values
  readonly changed: (now: Values) => readonly FieldInfo[]
  readonly onResolve: (values: Values) => void
}

/** Shows what somebody else changed meanwhile. Nothing that was typed is lost. */
function Conflict({ before, theirs, yours, changed, onResolve }: ConflictProps) {
  const mine = Object.fromEntries(changed(yours).map(({ name }) => [name, yours[name] ?? '']))
  return (
    <Notice tone="warning" title="Somebody else changed this meanwhile">
      <p>Nothing was saved. Compare both versions:</p>
      <Table
        label="Both versions"
        rows={[...new Set([...changed(theirs), ...changed(yours)])]}
        columns={[
          ['Field', ({ label }) => label],
          ['Before', ({ name }) => before[name] || 'empty'],
          ['Theirs', ({ name }) => theirs[name] || 'empty'],
          ['Yours', ({ name }) => yours[name] || 'empty'],
        ]}
      />
      <div class="actions">
        <button type="button" class="primary" onClick={() => onResolve({ ...theirs, ...mine })}>
          Take their changes, keep mine
        </button>
        <button type="button" onClick={() => onResolve(theirs)}>
          Discard my changes
        </button>
      </div>
    </Notice>
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
