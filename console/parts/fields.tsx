import { useId } from 'preact/hooks'
import { labelOf } from '../format.ts'

/** A value, and its label if it has another one. */
export type Option = string | readonly [value: string, label: string]

/** What a field is. All values are texts as they are typed; a checked box is `true`, else ''. */
export interface FieldInfo {
  readonly label: string
  /** The field's name in the errors of the server. */
  readonly name: string
  /** A text, or a function of what is typed. */
  readonly hint?: string | undefined | ((typed: string) => string)
  /** `/` goes to a `search`. `long` and `json` have several lines. */
  readonly kind?: 'text' | 'search' | 'date' | 'password' | 'long' | 'json' | 'check' | undefined
  /** What a password manager may fill in; nothing by default. */
  readonly autocomplete?: string
  readonly inputMode?: 'numeric' | 'decimal' | undefined
  /** Makes it a list to choose from: values, or the label of each value. */
  readonly options?: readonly Option[] | { readonly [value: string]: string }
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
export function allOr(states: readonly string[]): readonly Option[] {
  return [['', 'All'], ...states.map((each) => [each, labelOf(each)] as const)]
}

interface FieldProps extends FieldInfo {
  readonly value: string
  readonly onChange: (value: string) => void
  /** The errors of the field. */
  readonly messages: readonly string[]
}

/** A labelled control with its hint and its errors. */
export function Field(props: FieldProps) {
  const { label, kind, hint, width, value, messages } = props
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
        {typeof hint === 'function' ? hint(value) : hint}
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
  const { name, kind = 'text', options, inputMode, autocomplete = 'off', value, onChange } = field
  const common = { ...attributes, name }
  const onInput = (event: Event) => onChange((event.target as HTMLInputElement).value)
  const text = { autocomplete, spellcheck: false, value, onInput, ...common }
  if (options)
    return <Select options={options} value={value} onChange={onChange} attributes={common} />
  if (kind === 'check') {
    const check = (event: Event) =>
      onChange((event.target as HTMLInputElement).checked ? 'true' : '')
    return <input type="checkbox" checked={value === 'true'} onChange={check} {...common} />
  }
  if (kind === 'long' || kind === 'json') return <textarea rows={4} class={kind} {...text} />
  // The types of Preact do not accept a union here.
  return <input type={kind as 'text'} inputMode={inputMode} {...text} />
}

interface SelectProps extends Pick<FieldProps, 'value' | 'onChange'> {
  readonly options: NonNullable<FieldInfo['options']>
  readonly attributes?: object
}

/** A list to choose from, which also has the chosen value if that is not among the options. */
export function Select({ value, options, onChange, attributes }: SelectProps) {
  const given: readonly Option[] = Array.isArray(options) ? options : Object.entries(options)
  const choices = new Map(given.map((each) => (typeof each === 'string' ? [each, each] : each)))
  if (!choices.has(value)) choices.set(value, value || '–')
  const choose = ({ currentTarget }: { readonly currentTarget: HTMLSelectElement }) => {
    const chosen = currentTarget.value
    currentTarget.value = value // until the change is accepted
    onChange(chosen)
  }
  return (
    <select value={value} onChange={choose} {...attributes}>
      {[...choices].map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  )
}
