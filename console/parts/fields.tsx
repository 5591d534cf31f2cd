import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef, useState } from 'preact/hooks'

/** What a field is. All values are texts as they are typed; a checked box is `true`, else ''. */
export interface FieldInfo {
  readonly label: string
  /** The field's name in the errors of the server. */
  readonly name: string
  readonly hint?: ComponentChildren
  /** A `search` changes a moment after the last key. `long` and `json` have several lines. */
  readonly kind?: 'text' | 'search' | 'date' | 'password' | 'long' | 'json' | 'check' | undefined
  readonly inputMode?: 'numeric' | 'decimal' | undefined
  /** Makes it a list to choose from. */
  readonly options?: readonly (string | readonly [value: string, label: string])[]
  /** Leaves the field out if nothing is typed. */
  readonly isOptional?: boolean | undefined
  /** The width in characters, if it is not that of a text. */
  readonly width?: number | undefined
  /** Converts what was typed; undefined for a mistake. */
  readonly parse?: ((typed: string) => unknown) | undefined
  /** The mistake, such as `must be an amount`. */
  readonly mistake?: string
}

/** The options of a filter by a state. */
export function allOr(states: readonly string[]): (readonly [value: string, label: string])[] {
  return [['', 'All'], ...states.map((each) => [each, each.replace(/^./, upper)] as const)]
}

const upper = (letter: string) => letter.toUpperCase()

interface FieldProps extends FieldInfo {
  readonly value: string
  readonly onChange: (value: string) => void
  /** The errors of the field. */
  readonly messages?: readonly string[]
}

/** A labelled control with its hint and its errors. */
export function Field({ messages = [], ...props }: FieldProps) {
  const { label, kind, hint, width } = props
  const id = useId()
  const described = { 'aria-describedby': `${id}-hint ${id}-error` }
  return (
    <div
      class={kind === 'check' ? 'field check' : 'field'}
      {...(width && { style: { '--width': `${width}ch` } })}
    >
      <label for={id}>{label}</label>
      <Control {...props} attributes={{ id, ...described, 'aria-invalid': messages.length > 0 }} />
      <div id={`${id}-hint`} class="hint">
        {hint}
      </div>
      <div id={`${id}-error`} class="mistake">
        {messages.map((message) => (
          <p key={message}>
            {label} {message}
          </p>
        ))}
      </div>
    </div>
  )
}

function Control({ attributes, ...field }: FieldProps & { readonly attributes: object }) {
  const { name, kind = 'text', options, inputMode, value, onChange } = field
  const [typed, type] = useTyped(value, onChange, kind === 'search')
  const common = { ...attributes, name }
  const text = { autocomplete: 'off', spellcheck: false, value: typed, ...common }
  const read = (event: Event) => type((event.target as HTMLInputElement).value)
  if (kind === 'check') {
    const check = (event: Event) =>
      onChange((event.target as HTMLInputElement).checked ? 'true' : '')
    return <input type="checkbox" checked={value === 'true'} onChange={check} {...common} />
  }
  if (kind === 'long' || kind === 'json') {
    return <textarea rows={4} class={kind} onInput={read} {...text} />
  }
  // The types of Preact do not accept a union here.
  if (!options) return <input type={kind as 'text'} {...{ inputMode }} onInput={read} {...text} />
  return (
    <select value={value} onChange={read} {...common}>
      {options.map((each) => {
        const [value, label] = typeof each === 'string' ? [each, each] : each
        return (
          <option key={value} value={value}>
            {label}
          </option>
        )
      })}
    </select>
  )
}

const TYPING_MS = 250

/** The text in a control, and a function that changes it and reports the change, later if asked. */
function useTyped(value: string, onChange: (value: string) => void, isLate: boolean) {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  // A change from elsewhere, such as a link that shows all.
  useEffect(() => {
    if (value !== sent.current) setTyped(value)
    sent.current = value
  }, [value])
  useEffect(() => {
    if (!isLate || typed === value) return
    const timer = setTimeout(() => {
      sent.current = typed
      onChange(typed)
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return isLate ? ([typed, setTyped] as const) : ([value, onChange] as const)
}
