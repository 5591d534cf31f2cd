import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ErrorDetail, TillError } from '../../client/manage.ts'
import { randomHex } from '../../client/random.ts'
import { useAction } from '../data.ts'
import { goTo, linkTo, setUnsaved, usePlace } from '../place.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Field, type FieldInfo } from './fields.tsx'
import { detailsOf, Failure, fieldAmong, Slow } from './notice.tsx'

/** The text in each field. */
export type Values = { readonly [name: string]: string }

interface FieldsProps {
  readonly fields: readonly FieldInfo[]
  readonly values: Values
  readonly onChange: (values: Values) => void
}

export function Fields(props: FieldsProps & { readonly error?: unknown }) {
  const { fields, values, onChange, error } = props
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

type FiltersProps = Pick<FieldsProps, 'fields'> & Partial<Pick<FieldsProps, 'values'>>

/** Fields that narrow what a page shows, as they change. They are in the URL of the page. */
export function Filters({ fields, values }: FiltersProps) {
  const { page, id, query } = usePlace()
  return (
    <search class="filters">
      <Fields
        fields={fields}
        values={values ?? query}
        onChange={(values) => goTo(linkTo(page, id, { ...values, at: undefined }), true)}
      />
    </search>
  )
}

/** What `send` gets: the values of the fields, as they parse them. */
// biome-ignore lint/suspicious/noExplicitAny: the API validates the values
export type Parsed = { readonly [name: string]: any }

interface FormProps extends FieldsProps {
  readonly label: string
  /** Sends what was typed. The same input has the same idempotency key: it creates nothing twice. */
  readonly send: (parsed: Parsed, creation: { idempotencyKey: string }) => Promise<unknown>
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
        {onCancel && <Button label="Cancel" onClick={onCancel} />}
        {action.isRunning && <Slow />}
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
  const input: { [name: string]: unknown } = {}
  const details: ErrorDetail[] = []
  for (const { name, kind, isOptional, mistake = 'must be a JSON object', ...field } of fields) {
    const typed = values[name] ?? ''
    if (isOptional && typed === '') continue
    const { parse = kind === 'json' ? parseJson : String } = field
    input[name] = kind === 'check' ? typed !== '' : parse(typed)
    if (input[name] === undefined) details.push({ field: name, code: 'invalid', message: mistake })
  }
  try {
    check(input)
  } catch (error) {
    const found = detailsOf(error)
    if (found.length === 0) throw error
    details.push(...found.filter(({ field }) => !details.some((each) => each.field === field)))
  }
  if (details.length > 0)
    throw new TillError('invalid_request', 'Correct the marked fields', { details })
  return input
}

export function parseJson(text: string): object | undefined {
  try {
    const value = JSON.parse(text || '{}')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

interface FormButtonProps
  extends Omit<FormProps, 'fields' | 'values' | 'onChange'>,
    Partial<Pick<FormProps, 'values'>> {
  /** The fields, which may depend on what is typed. */
  readonly fields?: FormProps['fields'] | ((typed: Values) => FormProps['fields'])
  /** The title of the dialog, if it is not the label. */
  readonly title?: string
  readonly isPrimary?: boolean
}

/** A button that opens a form in a dialog, or only asks. The children say what will change. */
export function FormButton({ label, title = label, isPrimary, ...props }: FormButtonProps) {
  const { fields = [], values: first = {}, send, isDangerous } = props
  const [values, setValues] = useState<Values>()
  const close = () => setValues(undefined)
  const finish: FormProps['send'] = async (...sent) => {
    await send(...sent)
    close()
  }
  return (
    <>
      <Button
        label={label}
        class={isDangerous ? 'danger' : isPrimary ? 'primary' : ''}
        onClick={() => setValues(first)}
      />
      {values && (
        <Dialog title={title} onClose={close}>
          <Form
            submit={label}
            {...props}
            label={title}
            fields={typeof fields === 'function' ? fields(values) : fields}
            values={values}
            onChange={setValues}
            send={finish}
            onCancel={close}
          />
        </Dialog>
      )}
    </>
  )
}

interface ActionButtonProps extends Pick<FormButtonProps, 'label' | 'isPrimary'> {
  readonly act: () => Promise<unknown>
}

/** A button that does something at once. */
export function ActionButton({ label, act, isPrimary }: ActionButtonProps) {
  const action = useAction(act)
  return (
    <>
      <Button
        label={label}
        class={isPrimary ? 'primary' : ''}
        aria-busy={action.isRunning}
        onClick={() => action.run()}
      />
      {action.isRunning && <Slow />}
      <Failure error={action.error} />
    </>
  )
}
