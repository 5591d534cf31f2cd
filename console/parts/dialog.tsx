import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { type Action, useAction } from '../data.ts'
import { mayLeave } from '../place.ts'
import { Failure } from './notice.tsx'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Escape does not close it. */
  readonly isRequired?: boolean
  readonly children: ComponentChildren
}

/**
 * A modal dialog. Escape closes it, after a question if a form has changes. The focus returns to
 * where it was.
 */
export function Dialog({ title, onClose, isRequired, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => opener instanceof HTMLElement && opener.focus()
  }, [])
  const cancel = (event: Event) => {
    if (isRequired || !mayLeave(event.currentTarget as Node)) event.preventDefault()
  }
  // Browsers let a second Escape close the dialog in any case.
  const close = () => (isRequired ? dialog.current?.showModal() : onClose())
  return (
    <dialog ref={dialog} aria-labelledby={id} onCancel={cancel} onClose={close}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmProps extends DialogProps {
  /** The words on the button that confirms. */
  readonly verb: string
  readonly onConfirm: () => Promise<unknown>
  readonly isDangerous?: boolean
}

/** Asks before an action. `children` say what will change. */
export function Confirm({ verb, onConfirm, isDangerous, children, ...dialog }: ConfirmProps) {
  const action: Action<[]> = useAction(async () => {
    await onConfirm()
    dialog.onClose()
  })
  return (
    <Dialog {...dialog}>
      {children}
      <Failure error={action.error} />
      <div class="actions">
        <button
          type="button"
          class={isDangerous ? 'danger' : 'primary'}
          aria-busy={action.isRunning}
          onClick={() => action.run()}
        >
          {verb}
        </button>
        <button type="button" onClick={dialog.onClose}>
          Cancel
        </button>
      </div>
    </Dialog>
  )
}
