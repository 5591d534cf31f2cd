import { type ComponentChildren, createContext } from 'preact'
import { useContext, useEffect, useId, useRef } from 'preact/hooks'
import type { Action } from '../data.ts'
import { setUnsaved } from '../place.ts'
import { detailsOf, Failure } from './notice.tsx'

/** The error of the last attempt to send the form. */
const FormError = createContext<unknown>(undefined)

interface FormProps {
  readonly action: Action<[]>
  /** The names of the fields, which show their errors themselves. */
  readonly names: readonly string[]
  readonly label: string
  readonly children: ComponentChildren
  /** Sends the form instead of the action. */
  readonly onSubmit?: () => unknown
  readonly onCancel?: () => void
  readonly submit?: string
  readonly isDangerous?: boolean
}

/** A form that sends `action`, and shows each error beside its field. */
export function Form(props: FormProps) {
  const {
    action,
    names,
    label,
    children,
    submit = 'Save',
    isDangerous,
    onCancel,
    onSubmit = action.run,
  } = props
  const { error, isRunning } = action
  const shown = detailsOf(error).filter(({ field = '' }) => names.includes(field))
  const form = useRef<HTMLFormElement>(null)
  const note = (isUnsaved: boolean) => form.current && setUnsaved(form.current, isUnsaved)
  useEffect(() => {
    const own = form.current
    return () => own && setUnsaved(own, false)
  }, [])
  const send = async (event: Event) => {
    event.preventDefault()
    if (await onSubmit()) note(false)
  }
  return (
    <form ref={form} onSubmit={send} onInput={() => note(true)} aria-label={label} novalidate>
      <FormError.Provider value={error}>{children}</FormError.Provider>
      <Failure error={error} shown={shown} />
      <div class="actions">
        <button type="submit" class={isDangerous ? 'danger' : 'primary'} aria-busy={isRunning}>
          {submit}
        </button>
        {onCancel && (
          <button type="button" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  )
}

interface ControlProps {
  readonly id: string
  readonly name: string
  readonly 'aria-describedby': string
  readonly 'aria-invalid': boolean
}

export interface FieldProps {
  readonly label: string
  /** The field's name in the errors of the server. */
  readonly name: string
  readonly hint?: ComponentChildren
  /** A mistake that the page has found itself. */
  readonly mistake?: string | undefined
  readonly children: (control: ControlProps) => ComponentChildren
}

/** A labelled control with its hint and its errors. */
export function Field({ label, name, hint, mistake, children }: FieldProps) {
  const id = useId()
  const error = useContext(FormError)
  const details = detailsOf(error).filter(({ field }) => field === name)
  const messages = mistake ? [mistake] : details.map(({ message }) => message)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        ...{ id, name, 'aria-describedby': `${id}-hint ${id}-error` },
        'aria-invalid': messages.length > 0,
      })}
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
