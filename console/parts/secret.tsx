import { Copyable } from './copy.tsx'
import { Dialog } from './dialog.tsx'

interface SecretProps {
  readonly title: string
  readonly text: string
  readonly onClose: () => void
}

/** Shows a secret once. Escape does not close it. */
export function Secret({ title, text, onClose }: SecretProps) {
  return (
    <Dialog title={title} onClose={onClose} isRequired>
      <p>Copy it now: it is shown only this once.</p>
      <Copyable label="the secret" text={text} />
      <div class="actions">
        <button type="button" class="primary" onClick={onClose}>
          I have stored it
        </button>
      </div>
    </Dialog>
  )
}
