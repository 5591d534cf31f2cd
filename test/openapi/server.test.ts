import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createMemoryStorage } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'
import { type ProblemBody, startServer } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { assertDocumented } from './answers.ts'
import { operations } from './document.ts'
import { createManagedShop, requestOf } from './requests.ts'

const RUNS = soakOnly ? 6 : 15
/** Fewer, because their code is shared. */
const MANAGED_RUNS = soakOnly ? 3 : 4

/** Their rules also depend on stored records, or on several fields together. */
const LOOSE = ['changeStore', 'planCatalog', 'applyCatalog', 'recordPurchase', 'replayWebhook']

for (const operation of operations) {
  test(`${operation.id}: requests from the document get documented answers`, async (t) => {
    const storage = createMemoryStorage()
    const { till, send } = await startServer(t, {
      storage,
      options: { metrics: true, manage: true },
    })
    const shop = await createManagedShop(till)
    const property = fc.asyncProperty(requestOf(operation, shop), async (request) => {
      const { line, parts, isValid, isAuthorized } = request
      const reply = await send(line, parts)
      assertDocumented(operation, reply)
      assert.notEqual(reply.status, 500, reply.text)
      if (isValid === undefined || !isAuthorized || LOOSE.includes(operation.id)) return
      const isRefused = reply.status === 400 && isAboutForm(reply.json<ProblemBody>())
      if (isValid) assert.ok(!isRefused, `the document allows what got ${reply.text}`)
      else assert.equal(reply.status, 400, `the document forbids what got ${reply.text}`)
    })
    const isManaged = operation.path.startsWith('/manage/')
    await fc.assert(property, { numRuns: isManaged ? MANAGED_RUNS : RUNS })
  })
}

/** Whether an error is about the form of a field, not about the records that exist. */
function isAboutForm({ errors = [] }: ProblemBody): boolean {
  return errors.some(
    ({ field, code }) =>
      ['required', 'invalid', 'unsupported'].includes(code) && field !== 'Idempotency-Key',
  )
}
