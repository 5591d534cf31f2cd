import { Button, Copyable } from './button.tsx'
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
        <Button label="I have stored it" class="primary" onClick={onClose} />
      </div>
    </Dialog>
  )
}
