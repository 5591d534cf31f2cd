import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Field, type FieldProps } from './form.tsx'

interface TextProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: 'text' | 'search' | 'date' | 'password' | 'url'
  readonly isLong?: boolean
  readonly inputMode?: 'numeric' | 'decimal'
}

export function TextField({
  value,
  onChange,
  type = 'text',
  isLong,
  inputMode,
  ...field
}: TextProps) {
  const read = (event: Event) => onChange((event.target as HTMLInputElement).value)
  const common = { value, onInput: read, autocomplete: 'off', spellcheck: false }
  return (
    <Field {...field}>
      {(control) =>
        isLong ? (
          <textarea rows={4} {...control} {...common} />
        ) : (
          // The types of Preact do not accept a union here.
          <input type={type as 'text'} {...(inputMode && { inputMode })} {...control} {...common} />
        )
      }
    </Field>
  )
}

const TYPING_MS = 250

/** A text for a search, which starts a moment after the last key. */
export function SearchField({ value, onChange, ...field }: TextProps) {
  const [typed, setTyped] = useState(value)
  const sent = useRef(value)
  // A change from elsewhere, such as a link that shows all.
  useEffect(() => {
    if (value !== sent.current) setTyped(value)
    sent.current = value
  }, [value])
  useEffect(() => {
    if (typed === value) return
    const timer = setTimeout(() => {
      sent.current = typed
      onChange(typed)
    }, TYPING_MS)
    return () => clearTimeout(timer)
  }, [typed])
  return <TextField {...field} type="search" value={typed} onChange={setTyped} />
}

interface SelectProps extends Omit<FieldProps, 'children'> {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: readonly (readonly [value: string, label: string])[]
}

export function SelectField({ value, onChange, options, ...field }: SelectProps) {
  return (
    <Field {...field}>
      {(control) => (
        <select
          {...control}
          value={value}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {options.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

interface CheckProps {
  readonly label: string
  readonly hint?: string
  readonly isChecked: boolean
  readonly onChange: (isChecked: boolean) => void
}

export function CheckField({ label, hint, isChecked, onChange }: CheckProps) {
  const id = useId()
  return (
    <div class="field check">
      <input
        type="checkbox"
        id={id}
        checked={isChecked}
        aria-describedby={`${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      <div id={`${id}-hint`} class="hint">
        {hint}
      </div>
    </div>
  )
}
