import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ErrorDetail, TillError } from '../../client/manage.ts'
import { randomHex } from '../../client/random.ts'
import { useAction } from '../data.ts'
import { setUnsaved } from '../place.ts'
import { Dialog } from './dialog.tsx'
import { Field, type FieldInfo } from './fields.tsx'
import { detailsOf, Failure, fieldAmong } from './notice.tsx'

/** What was typed in each field. */
export interface Values {
  readonly [name: string]: string
}

interface FieldsProps {
  readonly fields: readonly FieldInfo[]
  readonly values: Values
  readonly onChange: (values: Values) => void
}

function Fields({ fields, values, onChange, error }: FieldsProps & { readonly error?: unknown }) {
  const details = detailsOf(error)
  const names = fields.map(({ name }) => name)
  return fields.map((field) => (
    <Field
      key={field.name}
      {...field}
      value={values[field.name] ?? ''}
      onChange={(value) => onChange({ ...values, [field.name]: value })}
      messages={details
        .filter((each) => fieldAmong(names, each.field) === field.name)
        .map((each) => each.message)}
    />
  ))
}

/** Fields that narrow a list as they change. */
export function Filters(props: FieldsProps) {
  return (
    <search class="filters">
      <Fields {...props} />
    </search>
  )
}

/** What `send` gets: the values of the fields, as they parse them. */
// biome-ignore lint/suspicious/noExplicitAny: the API validates the values
export type Parsed = { readonly [name: string]: any }

/**
 * One idempotency key for each input of a creation. The same input once more, after its answer was
 * lost, creates nothing again.
 */
interface Creation {
  readonly idempotencyKey: string
}

export interface FormProps extends FieldsProps {
  readonly label: string
  /** Sends what was typed. Resolves to false if it needs another attempt. */
  readonly send: (parsed: Parsed, creation: Creation) => Promise<unknown>
  /** Throws the mistakes that the library finds in the input. */
  readonly check?: ((parsed: Parsed) => unknown) | undefined
  readonly submit?: string
  readonly isDangerous?: boolean | undefined
  readonly onCancel?: (() => void) | undefined
  readonly children?: ComponentChildren
}

/**
 * A form that shows all mistakes at once, each beside its field and the others below the fields, and
 * then focuses the first.
 */
export function Form({ children, ...props }: FormProps) {
  const { fields, values, label, send, check, submit = 'Save', isDangerous, onCancel } = props
  const form = useRef<HTMLFormElement>(null)
  const note = (isUnsaved: boolean) => form.current && setUnsaved(form.current, isUnsaved)
  useEffect(() => {
    const own = form.current
    return () => own && setUnsaved(own, false)
  }, [])
  const last = useRef({ text: '', idempotencyKey: '' })
  const action = useAction(async () => {
    const text = JSON.stringify(values)
    if (text !== last.current.text) last.current = { text, idempotencyKey: randomHex() }
    return send(parse(fields, values, check), { idempotencyKey: last.current.idempotencyKey })
  })
  useEffect(() => {
    const control = form.current?.querySelector('[aria-invalid="true"]')
    if (action.error !== undefined && control) (control as HTMLElement).focus()
  }, [action.error])
  const submitForm = async (event: Event) => {
    event.preventDefault()
    if (await action.run()) note(false)
  }
  return (
    <form ref={form} onSubmit={submitForm} onInput={() => note(true)} aria-label={label} novalidate>
      {children}
      <Fields {...props} error={action.error} />
      <Failure error={action.error} shown={fields.map(({ name }) => name)} />
      <div class="actions">
        <button
          type="submit"
          class={isDangerous ? 'danger' : 'primary'}
          aria-busy={action.isRunning}
        >
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

/** Parses what was typed. Throws all mistakes that need no server, as the server does. */
function parse(
  fields: readonly FieldInfo[],
  values: Values,
  check: FormProps['check'] = () => {},
): Parsed {
  const parsed = fields.flatMap((field) => {
    const { name, kind, isOptional, parse = kind === 'json' ? parseJson : String } = field
    const typed = values[name] ?? ''
    if (isOptional && typed === '') return []
    return [{ ...field, value: kind === 'check' ? typed !== '' : parse(typed) }]
  })
  const input = Object.fromEntries(parsed.map(({ name, value }) => [name, value]))
  const details = parsed
    .filter(({ value }) => value === undefined)
    .map(({ name, mistake = 'must be a JSON object' }): ErrorDetail => {
      return { field: name, code: 'invalid', message: mistake }
    })
  try {
    check(input)
  } catch (error) {
    const isNew = ({ field }: ErrorDetail) => !details.some((each) => each.field === field)
    details.push(...detailsOf(error).filter(isNew))
    if (detailsOf(error).length === 0) throw error
  }
  if (details.length > 0)
    throw new TillError('invalid_request', 'Correct the marked fields', { details })
  return input
}

function parseJson(text: string): object | undefined {
  try {
    const value = JSON.parse(text || '{}')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

interface FormButtonProps extends Omit<FormProps, 'label' | 'fields' | 'values' | 'onChange'> {
  /** The text of the button. */
  readonly label: string
  /** The title of the dialog, if it is not the label. */
  readonly title?: string
  readonly fields?: readonly FieldInfo[]
  /** The values at first. */
  readonly values?: Values
  readonly isPrimary?: boolean
}

const NONE: Values = {}

/** A button that opens a form in a dialog, or only asks. The children say what will change. */
export function FormButton({ label, title = label, isPrimary, ...props }: FormButtonProps) {
  const {
    fields = [],
    values: first = NONE,
    send,
    check,
    submit = label,
    isDangerous,
    children,
  } = props
  const [values, setValues] = useState<Values>()
  const close = () => setValues(undefined)
  const finish = async (parsed: Parsed, creation: Creation) => {
    const isDone = (await send(parsed, creation)) !== false
    if (isDone) close()
    return isDone
  }
  return (
    <>
      <button
        type="button"
        class={isDangerous ? 'danger' : isPrimary ? 'primary' : ''}
        onClick={() => setValues(first)}
      >
        {label}
      </button>
      {values && (
        <Dialog title={title} onClose={close}>
          <Form
            {...{ label: title, fields, values, submit, check, isDangerous }}
            onChange={setValues}
            send={finish}
            onCancel={close}
          >
            {children}
          </Form>
        </Dialog>
      )}
    </>
  )
}

interface ActionButtonProps {
  readonly act: () => Promise<unknown>
  readonly isPrimary?: boolean
  readonly children: ComponentChildren
}

/** A button that does something at once. */
export function ActionButton({ act, isPrimary, children }: ActionButtonProps) {
  const action = useAction(act)
  return (
    <>
      <button
        type="button"
        class={isPrimary ? 'primary' : ''}
        aria-busy={action.isRunning}
        onClick={() => action.run()}
      >
        {children}
      </button>
      <Failure error={action.error} />
    </>
  )
}
