import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { SignInForm, SignInPage } from './pages/sign-in.tsx'
import { Dialog } from './parts/dialog.tsx'
import { restoreSession, signOut, watchRefusal } from './session.ts'
import { Shell } from './shell.tsx'

/** The sign-in page, or the console of the account that has signed in. */
function App() {
  const [account, setAccount] = useState<string>()
  const [isRefused, setRefused] = useState(false)
  useEffect(() => {
    watchRefusal(() => setRefused(true))
    restoreSession().then(setAccount)
  }, [])
  const enter = (account: string) => {
    setRefused(false)
    setAccount(account)
  }
  if (account === undefined) return null
  if (!account) return <SignInPage onSignIn={enter} />
  return (
    <>
      {/* The same account keeps its page, with what was typed. */}
      <Shell key={account} />
      {isRefused && (
        <Dialog title="Sign in again" isRequired onClose={signOut}>
          <p>
            The account key is not valid any more: it was revoked, or another tab has signed out.
            With another key of the account, the page stays as it is.
          </p>
          <SignInForm onSignIn={enter} onCancel={signOut} />
        </Dialog>
      )}
    </>
  )
}

render(<App />, document.getElementById('app') as HTMLElement)
