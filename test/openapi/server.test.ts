import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createMemoryStorage } from '../../lib/index.ts'
import { fc } from '../support/seeds.ts'
import { type ProblemBody, type Send, startServer } from '../support/server.ts'
import { soakOnly } from '../support/soak.ts'
import { assertDocumented } from './answers.ts'
import { type Operation, operations } from './document.ts'
import { createManagedShop, type DocumentedRequest, requestOf } from './requests.ts'

const RUNS = soakOnly ? 6 : 15
/** Fewer, because their code is shared. */
const MANAGED_RUNS = soakOnly ? 3 : 4

/** Their rules also depend on stored records, or on several fields together. */
const LOOSE = ['changeStore', 'planCatalog', 'applyCatalog', 'recordPurchase', 'replayWebhook']

async function start(t: TestContext) {
  const storage = createMemoryStorage()
  const options = { metrics: true, manage: true }
  const { till, send } = await startServer(t, { storage, options })
  return { send, shop: await createManagedShop(till) }
}

test('requests from the document get documented answers', async (t) => {
  const shared = await start(t)
  for (const operation of operations) {
    await t.test(operation.id, async (t) => {
      // Only a write changes the records that other requests need.
      const { send, shop } = operation.method === 'GET' ? shared : await start(t)
      await fc.assert(
        fc.asyncProperty(requestOf(operation, shop), (request) => verify(operation, request, send)),
        { numRuns: operation.path.startsWith('/manage/') ? MANAGED_RUNS : RUNS },
      )
    })
  }
})

async function verify(
  operation: Operation,
  { line, parts, isValid, isAuthorized }: DocumentedRequest,
  send: Send,
): Promise<void> {
  const reply = await send(line, parts)
  assertDocumented(operation, reply)
  assert.notEqual(reply.status, 500, reply.text)
  if (isValid === undefined || !isAuthorized || LOOSE.includes(operation.id)) return
  const isRefused = reply.status === 400 && isAboutForm(reply.json<ProblemBody>())
  if (isValid) assert.ok(!isRefused, `the document allows what got ${reply.text}`)
  else assert.equal(reply.status, 400, `the document forbids what got ${reply.text}`)
}

/** Whether an error is about the form of a field, not about the records that exist. */
function isAboutForm({ errors = [] }: ProblemBody): boolean {
  return errors.some(
    ({ field, code }) =>
      ['required', 'invalid', 'unsupported'].includes(code) && field !== 'Idempotency-Key',
  )
}
