import { useEffect, useState } from 'preact/hooks'
import type { FieldInfo } from '../parts/fields.tsx'
import { Form, type Values } from '../parts/form.tsx'
import { Page } from '../parts/page.tsx'
import { signIn } from '../session.ts'

interface SignInProps {
  readonly onSignIn: (account: string) => void
  readonly onCancel?: () => void
}

export function SignInPage({ onSignIn }: SignInProps) {
  return (
    <main class="sign-in">
      <Page title="Sign in to tillkit">
        <SignInForm onSignIn={onSignIn} />
        <p class="muted">
          No key? <code>npm start</code> prints one at the first start. An operator creates another
          with <code>tillkit account keys add</code>.
        </p>
      </Page>
    </main>
  )
}

const KEY: FieldInfo = {
  label: 'Account key',
  name: 'account_key',
  kind: 'password',
  autocomplete: 'current-password',
  hint: 'It begins with ak_. The open tabs of the console keep the key until you sign out.',
  parse: (typed) => (/^ak_[\w-]+$/.test(typed.trim()) ? typed.trim() : undefined),
  mistake: 'begins with ak_',
}

export function SignInForm({ onSignIn, onCancel }: SignInProps) {
  const [values, setValues] = useState<Values>({})
  useEffect(() => document.querySelector<HTMLElement>('[name="account_key"]')?.focus(), [])
  return (
    <Form
      label="Sign in"
      submit="Sign in"
      fields={[KEY]}
      values={values}
      onCancel={onCancel}
      onChange={setValues}
      send={async ({ account_key }) => onSignIn(await signIn(account_key))}
    >
      {/* Password managers keep the key under this name. */}
      <input autocomplete="username" value="tillkit" readOnly hidden />
    </Form>
  )
}
