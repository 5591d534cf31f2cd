import assert from 'node:assert/strict'
import { test } from 'node:test'
import { expectFields, type Row } from '../../conformance/rows.ts'
import type { Report } from '../../conformance/suite.ts'
import { conformanceRows } from '../../conformance/table.ts'
import { tillkit } from '../support/cli.ts'
import { ANSWER, type Change, check, nameOf, onSuccess, start } from '../support/conformance.ts'

test('tillkit conforms and behaves as recommended', async (t) => {
  const { url, env, till, account, project } = await start(t)
  const { code, stdout } = await tillkit(['conformance', '--url', url, '--json'], { env })
  const { checks, restored } = JSON.parse(stdout) as Report
  assert.deepEqual(
    checks.filter(({ outcome }) => outcome !== 'passed'),
    [],
  )
  assert.ok(checks.length > 150)
  assert.deepEqual({ code, restored }, { code: 0, restored: true })
  assert.deepEqual(await till.projects.get(account, project.id), project)
})

/** The error statuses of the specification. It lists none for the import, but requires 401. */
const STATUSES: { readonly [endpoint: number]: readonly number[] } = {
  ...{ 1: [400], 2: [400], 3: [400], 4: [400, 401], 5: [400, 401], 6: [400, 401, 404] },
  ...{ 7: [401], 8: [400, 401], 9: [400, 401], 10: [400, 401] },
}

test('every error status of the specification has a required check', () => {
  for (const [number, statuses] of Object.entries(STATUSES)) {
    const own = conformanceRows().filter(({ endpoint }) => endpoint === Number(number))
    const checked = own.filter(({ isOpen }) => !isOpen).flatMap(({ statuses }) => statuses)
    const missing = statuses.filter((status) => !checked.includes(String(status)))
    assert.deepEqual(missing, [], `endpoint ${number}`)
  }
})

/** The names of the required checks that a condition holds for. */
function required(is: (row: Row) => boolean): string[] {
  const found = conformanceRows().filter((row) => !row.isOpen && is(row))
  return found.map(nameOf)
}

const fieldChecks = required(({ judge }) => judge === expectFields)

interface Defect {
  readonly change: Change
  /** The endpoints to check; default all. */
  readonly only?: string
  /** The checks that must fail. All others must pass. */
  readonly failed: readonly string[]
}

const BAD_STATUSES: { readonly [status: number]: number } = { 400: 406, 401: 403, 404: 410 }

/** Gives answers with status 200 other values. */
const changeFields = (fields: { readonly [number: number]: object }): Change =>
  onSuccess(({ json }, { number }) => void Object.assign(json, fields[number]))

/** The fields that a server does not require, with their values. */
const DEFAULTS: { readonly [number: number]: object } = {
  2: { user_id: 'a' },
  3: { user_id: 'a' },
  4: { display_name: 'a' },
  8: { name: 'a' },
  10: { store_type: 'web' },
}

/** Replaces credentials without the form of a valid one by the first valid one. */
function acceptAll(header: string, valid: RegExp): Change {
  let known = ''
  return {
    request({ number, headers }) {
      const value = headers[header] ?? ''
      if (valid.test(value)) known ||= value
      else if (known !== '' && number > 3) headers[header] = known
    },
  }
}

const acceptAccountKeys = acceptAll('x-account-key', /^ak_/)
const acceptTokens = acceptAll('authorization', /^Bearer eyJ.*[^.]$/)

const DEFECTS: { readonly [defect: string]: Defect } = {
  'each answer lacks its last field': {
    change: onSuccess(({ json }) => void delete json[Object.keys(json).at(-1) ?? '']),
    failed: fieldChecks,
  },
  'answers have one more field or status 201, and bad requests get other statuses': {
    change: {
      reply(reply, { number }) {
        if (reply.status !== 200) reply.status = BAD_STATUSES[reply.status] ?? reply.status
        else if (number % 2 === 0) reply.status = 201
        else reply.json.extra = null
      },
    },
    failed: required(({ endpoint, title, statuses, judge }) => {
      if (judge === expectFields) return title === ANSWER || endpoint % 2 === 1
      return (
        statuses.every((each) => each in BAD_STATUSES) ||
        (statuses.length > 3 && title !== 'refuses a JSON body')
      )
    }),
  },
  'it requires too little, converts numbers and answers 500 to unusual text': {
    change: {
      request(request) {
        const { number, json } = request
        if (json?.price === 5) json.price = '5'
        if (json) request.json = { ...DEFAULTS[number], ...json }
      },
      reply(reply, { json, headers: { 'x-public-project-key': key } }) {
        if (/x{99}/.test(JSON.stringify({ json, key }))) reply.status = 500
      },
    },
    failed: required(({ endpoint, title }) => {
      const [field] = Object.keys(DEFAULTS[endpoint] ?? {})
      if (title === `refuses a request without ${field}`) return true
      if (title === 'refuses a number as price') return true
      return title.startsWith('answers a text with 10,000') && endpoint !== 5
    }),
  },
  'it accepts all account keys, and verifies only the signatures that are there': {
    change: {
      request(request) {
        acceptAccountKeys.request?.(request)
        acceptTokens.request?.(request)
      },
    },
    only: '4,5,6,7,8,9,10',
    failed: required(({ endpoint, title }) => {
      if ([4, 8, 10].includes(endpoint)) return /(without|unknown) account key/.test(title)
      return /(without|unknown) token|without signature/.test(title)
    }),
  },
  'it returns other values': {
    change: changeFields({
      1: { access_token: 'opaque' },
      2: { stores: [] },
      3: { expires_at: '2001-01-31T12:00:00Z' },
      6: { price: '499' },
      7: { ok: 'yes' },
      8: { config: {} },
      9: { public_key: 'pk_other' },
      10: { is_sandbox: true },
    }),
    failed: [
      `1: ${ANSWER}`,
      '1: returns a token that endpoint 5 accepts',
      '2: lists a new store, with store_id as id',
      '3: returns two times that agree',
      `6: ${ANSWER}`,
      '6: returns an item that was created without optional fields',
      '6: returns the values that were sent',
      `7: ${ANSWER}`,
      '8: returns the values that were sent',
      '9: returns the public key',
      '10: returns false as is_sandbox by default',
    ],
  },
}

for (const [defect, { change, only, failed: expected }] of Object.entries(DEFECTS)) {
  test(`exactly the checks for a defect fail: ${defect}`, async (t) => {
    const { code, report, titles } = await check(t, change, only ? ['--only', only] : [])
    assert.deepEqual(titles('failed'), expected)
    assert.deepEqual(titles('not_run'), [])
    assert.deepEqual({ code, conforms: report.conforms }, { code: 1, conforms: false })
    for (const { outcome, expected, got, request = '' } of report.checks) {
      if (outcome === 'failed') assert.match(request, /^(printf .* \|\n)?curl /)
      assert.equal(
        expected !== undefined && got !== undefined,
        outcome === 'failed' || outcome === 'noted',
      )
    }
  })
}
