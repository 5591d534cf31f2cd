import { useState } from 'preact/hooks'
import type { FieldInfo } from './fields.tsx'
import { Form, type Parsed, type Values } from './form.tsx'
import { Notice } from './notice.tsx'
import { Section } from './page.tsx'

interface EditProps<R> {
  readonly label: string
  readonly record: R
  readonly fields: readonly FieldInfo[]
  /** The fields of a record as they are typed. */
  readonly typedOf: (record: R) => Values
  readonly load: () => Promise<R>
  /** Saves the fields that were changed. `base` is what they were compared with. */
  readonly save: (changes: Parsed, base: R) => Promise<R>
  readonly onSaved: () => void
}

/**
 * A form that changes a record. It reads the record again before it saves. If somebody else has
 * changed it meanwhile, it saves nothing, and shows both.
 */
export function Edit<R extends object>(props: EditProps<R>) {
  const { label, fields, typedOf, load, save, onSaved } = props
  /** The record that the changes are based on. */
  const [base, setBase] = useState(props.record)
  const [values, setValues] = useState(() => typedOf(base))
  const [newest, setNewest] = useState<R>()
  const [isSaved, setSaved] = useState(false)
  const changesOf = (from: Values, to: Values) =>
    fields.filter(({ name }) => (from[name] ?? '') !== (to[name] ?? ''))
  const send = async (parsed: Parsed) => {
    setSaved(false)
    const now = await load()
    if (changesOf(typedOf(base), typedOf(now)).length > 0) {
      setNewest(now)
      return false
    }
    const changed = changesOf(typedOf(base), values).map(({ name }) => [name, parsed[name]])
    const saved = await save(Object.fromEntries(changed), now)
    setBase(saved)
    setValues(typedOf(saved))
    setSaved(true)
    onSaved()
    return true
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
      <Form {...{ label, fields, values, send }} onChange={change}>
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
      <p>Nothing was saved. Their changes:</p>
      <ul>
        {theirs.map(({ name, label }) => (
          <li key={name}>
            {label}: <s>{before[name] || 'empty'}</s> → <b>{now[name] || 'empty'}</b>
          </li>
        ))}
      </ul>
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
    return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value)
  }
  return Object.fromEntries(Object.entries(record).map(([name, value]) => [name, textOf(value)]))
}
