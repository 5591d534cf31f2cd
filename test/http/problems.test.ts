import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createProblem } from '../../http/problems.ts'
import { TillError } from '../../lib/index.ts'
import { assertProblem, importForm, serveShop } from '../support/server.ts'

const MAX = 64 * 1024

test('the errors of a file with a huge header cell take at most 64 KiB', async (t) => {
  const { send, token } = await serveShop(t)
  const padded = `purchased_at${' '.repeat(15_000)}`
  const rows = Array.from({ length: 5_000 }, (_, i) => `T-${i},gold,never`)
  const body = importForm(`transaction_id,sku,${padded}\n${rows.join('\n')}\n`)

  const reply = await send('POST /api/v1/purchases/import', { token, body })

  assert.equal(reply.status, 400)
  assert.ok(Buffer.byteLength(reply.text) <= MAX, `${reply.text.length}`)
})

test('a quoted part name is shortened', async (t) => {
  const { send, token } = await serveShop(t)
  const name = `dry${'_'.repeat(60_000)}run`
  const forms = [importForm('x', { [name]: 'true' }), importForm('x')]
  forms[1]?.append(name, 'a')
  forms[1]?.append(name, 'b')

  for (const body of forms) {
    const reply = await send('POST /api/v1/purchases/import', { token, body })
    const { errors } = assertProblem(reply, 400, 'invalid_request')
    assert.equal(errors?.[0]?.field, `${name.slice(0, 63)}…`)
    assert.ok(reply.text.length < 1_000)
  }
})

test('errors over the size limit are left out, and the detail says how many are named', () => {
  const texts = ['x', '"', '\n', '\u{1f600}', '\ud83d', 'é'].map((each) => each.repeat(2_000))
  for (const text of texts) {
    const details = Array.from({ length: 100 }, (_, line) => {
      return { line, field: text, column: text, code: 'invalid', message: text }
    })
    const error = new TillError('invalid_purchases', `5,000 mistakes: ${text}`, details)

    const { body } = createProblem(error, 'r-1', MAX)

    const json = JSON.stringify(body)
    assert.ok(Buffer.byteLength(json) <= MAX, `${json.length}`)
    assert.ok(json.isWellFormed())
    const named = body.errors?.length ?? 0
    assert.ok(named > 0 && named < 100)
    assert.match(body.detail, new RegExp(`^5,000 mistakes.*the first ${named} are named`, 's'))
    assert.deepEqual(
      body.errors?.map(({ line }) => line),
      Array.from({ length: named }, (_, line) => line),
    )
  }
})
