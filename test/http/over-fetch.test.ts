// Runs tests again over the fetch handler. Both handlers share the code of the endpoints.
import { soakOnly } from '../support/soak.ts'

process.env.TILLKIT_TEST_TRANSPORT = 'fetch'
if (!soakOnly) await import('./import.test.ts')
await import('./reading.test.ts')
await import('./cors.test.ts')
