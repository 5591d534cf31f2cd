import { render } from 'preact'
import { Button, Copyable } from './button.tsx'
import { Dialog } from './dialog.tsx'

/** Shows a secret once, above any page. Escape does not close it. */
export function showSecret(title: string, text: string): void {
  const place = document.createElement('div')
  const close = () => {
    render(null, place)
    place.remove()
  }
  document.body.append(place)
  render(
    <Dialog title={title} onClose={close} isRequired>
      <p>Copy it now: it is shown only this once.</p>
      <Copyable label="the secret" text={text} />
      <div class="actions">
        <Button label="I have stored it" class="primary" onClick={close} />
      </div>
    </Dialog>,
    place,
  )
}
