import { useEffect, useState } from 'preact/hooks'
import type { ManageClient } from '../client/manage.ts'
import { SignIn } from './pages/sign-in.tsx'
import { ClientProvider, clientFor, storedKey, watchSignOut } from './session.ts'
import { Shell } from './shell.tsx'

/** The sign-in page, or the console of the account that has signed in. */
export function App() {
  const [client, setClient] = useState<ManageClient | undefined>(() => {
    const key = storedKey()
    return key ? clientFor(key) : undefined
  })
  const [reason, setReason] = useState('')
  useEffect(() => {
    watchSignOut((reason) => {
      setReason(reason)
      setClient(undefined)
    })
  }, [])
  if (!client) return <SignIn reason={reason} onSignIn={setClient} />
  return (
    <ClientProvider value={client}>
      <Shell />
    </ClientProvider>
  )
}
