import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { mayLeave } from '../place.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  /** Escape does not close it. */
  readonly isRequired?: boolean
  readonly children: ComponentChildren
}

/**
 * A modal dialog. Escape closes it, after a question if a form has changes. The focus returns to
 * where it was, and the menu of the button closes.
 */
export function Dialog({ title, onClose, isRequired, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const opener = document.activeElement
    dialog.current?.showModal()
    return () => {
      const menu = opener?.closest('details')
      if (menu) menu.open = false
      const target = menu?.querySelector('summary') ?? opener
      if (target instanceof HTMLElement) target.focus()
    }
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
