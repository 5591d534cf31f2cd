import { render } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { SignInForm, SignInPage } from './pages/sign-in.tsx'
import { Dialog } from './parts/dialog.tsx'
import { ClientProvider, type Session, signOut, storedSession, watchSession } from './session.ts'
import { Shell } from './shell.tsx'

/** The sign-in page, or the console of the account that has signed in. */
function App() {
  const [session, setSession] = useState<Session | undefined>(storedSession)
  const [isRefused, setRefused] = useState(false)
  const change = (session: Session | undefined) => {
    setRefused(false)
    setSession(session)
  }
  useEffect(() => {
    watchSession({ onSignOut: () => change(undefined), onRefusal: () => setRefused(true) })
  }, [])
  if (!session) return <SignInPage onSignIn={change} />
  return (
    <ClientProvider value={session.client}>
      {/* The same account keeps its page, with what was typed. */}
      <Shell key={session.account_id} />
      {isRefused && (
        <Dialog title="Sign in again" isRequired onClose={signOut}>
          <p>
            The account key is not valid any more. It may have been revoked. With another key of the
            account, the page stays as it is.
          </p>
          <SignInForm onSignIn={change} onCancel={signOut} />
        </Dialog>
      )}
    </ClientProvider>
  )
}

render(<App />, document.getElementById('app') as HTMLElement)
