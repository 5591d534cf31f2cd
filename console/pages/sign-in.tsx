import { useState } from 'preact/hooks'
import { useAction } from '../data.ts'
import { TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { type Session, signIn } from '../session.ts'

interface SignInProps {
  readonly onSignIn: (session: Session) => void
  readonly onCancel?: () => void
}

export function SignInPage(props: SignInProps) {
  return (
    <main class="sign-in">
      <Page title="Sign in to tillkit">
        <SignInForm {...props} />
        <p class="muted">
          No key? <code>npm start</code> prints one at the first start. An operator creates another
          with <code>tillkit account keys add</code>.
        </p>
      </Page>
    </main>
  )
}

export function SignInForm({ onSignIn, ...form }: SignInProps) {
  const [typed, setTyped] = useState('')
  const [mistake, setMistake] = useState<string>()
  const action = useAction(async () => {
    const key = typed.trim()
    const isKey = /^ak_[\w-]+$/.test(key)
    setMistake(isKey ? undefined : 'begins with ak_')
    if (!isKey) return false
    onSignIn(await signIn(key))
    return true
  })
  return (
    <Form {...{ action, names: [], label: 'Sign in', submit: 'Sign in', ...form }}>
      <TextField
        label="Account key"
        name="account_key"
        type="password"
        value={typed}
        onChange={setTyped}
        mistake={mistake}
        hint="It begins with ak_. This tab keeps the key until you sign out or close the tab."
      />
    </Form>
  )
}
