import { useState } from 'preact/hooks'
import type { ManageClient } from '../../client/manage.ts'
import { useAction } from '../data.ts'
import { TextField } from '../parts/fields.tsx'
import { Form } from '../parts/form.tsx'
import { Notice } from '../parts/notice.tsx'
import { Page } from '../parts/page.tsx'
import { clientFor, storeKey } from '../session.ts'

interface SignInProps {
  /** Why the tab was signed out. */
  readonly reason: string
  readonly onSignIn: (client: ManageClient) => void
}

export function SignIn({ reason, onSignIn }: SignInProps) {
  const [typed, setTyped] = useState('')
  const [mistake, setMistake] = useState<string>()
  const action = useAction(async () => {
    const client = clientFor(typed.trim())
    await client.account()
    storeKey(typed.trim())
    onSignIn(client)
  })
  const submit = () => {
    const isKey = /^ak_[\w-]+$/.test(typed.trim())
    setMistake(isKey ? undefined : 'begins with ak_')
    if (isKey) action.run()
  }
  return (
    <main class="sign-in">
      <Page title="Sign in to tillkit">
        {reason && <Notice tone="warning" title={reason} />}
        <Form {...{ action, names: [], label: 'Sign in', submit: 'Sign in', onSubmit: submit }}>
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
        <p class="muted">
          No key? <code>npm start</code> prints one at the first start. An operator creates another
          with <code>tillkit account keys add</code>.
        </p>
      </Page>
    </main>
  )
}
