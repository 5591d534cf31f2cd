import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testOnEach } from '../support/databases.ts'
import { assertProblem, type Parts, serveShop } from '../support/server.ts'
import { createClock, openStorage } from '../support/till.ts'

interface Issued {
  readonly token: string
  readonly expires_at: string
  readonly expires_in_seconds: number
}

testOnEach('a back end gives its player a token, checks it and revokes it over HTTP', async (t) => {
  const { now, pass } = createClock()
  const storage = await openStorage()
  const shop = await serveShop(t, { storage, now, options: { manage: true } })
  const { send, account_key, project_id } = shop
  const manage = async <T = { active: boolean }>(path: string, json: object = {}) => {
    const reply = await send(`POST /manage/v1/${path}`, { account_key, json })
    assert.equal(reply.status, 200, reply.text)
    return reply.json<T>()
  }
  const issue = (json: object) => manage<Issued>(`projects/${project_id}/tokens`, json)
  const check = (token: string) => manage('tokens/check', { token })
  const owned = async (token: string) =>
    (await send('GET /api/v1/purchases/owned?store_id=main', { token })).status

  const issued = await issue({ user_id: 'ann', ttl_seconds: 600 })
  const iat = Math.floor(now() / 1000)
  const facts = { project_id, sub: 'ann', scope: 'items:read', issued_by: 'account', iat }
  assert.equal(issued.expires_in_seconds, 600)
  assert.equal(Date.parse(issued.expires_at) / 1000, iat + 600)
  assert.deepEqual(await check(issued.token), { active: true, ...facts, exp: iat + 600 })
  assert.equal(await owned(issued.token), 200)
  const form = { store_id: 'main', file: 'x' }
  const refused = await send('POST /api/v1/purchases/import', {
    token: issued.token,
    body: formOf(form),
  })
  assertProblem(refused, 401, 'insufficient_scope')

  const ofProject = await issue({ scopes: ['purchases:import', 'items:read'] })
  const { sub, scope } = (await check(ofProject.token)) as unknown as typeof facts
  assert.deepEqual([sub, scope], [project_id, 'purchases:import items:read'])
  const open = (await check(shop.token)) as unknown as typeof facts
  assert.deepEqual([open.sub, open.issued_by], ['player', 'public_key'])

  const revoked = { project_id, user_id: 'ann' }
  assert.deepEqual(await manage(`projects/${project_id}/users/ann/tokens/revoke`), revoked)
  assert.deepEqual(await check(issued.token), { active: false })
  assert.equal(await owned(issued.token), 401)
  assert.equal((await check(ofProject.token)).active, true)
  assert.deepEqual(await manage(`projects/${project_id}/tokens/revoke`), { project_id })
  for (const { token } of [ofProject, shop]) assert.deepEqual(await check(token), { active: false })

  const { token } = await issue({ user_id: 'ann', ttl_seconds: 60 })
  assert.equal((await check(token)).active, true)
  pass(66_000)
  for (const bad of [token, 'x', `${token}x`, account_key]) {
    assert.deepEqual(await check(bad), { active: false })
  }
})

function formOf(fields: { readonly [name: string]: string }) {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

test('the check of a token says nothing about that of another account', async (t) => {
  const { till, send, token } = await serveShop(t, { options: { manage: true } })
  const { account_key } = await till.accounts.create({ name: 'Other' })

  const reply = await send('POST /manage/v1/tokens/check', { account_key, json: { token } })

  assert.deepEqual(reply.json(), { active: false })
})

test('scopes that are null issue a token that reads items, and not one with all scopes', async (t) => {
  const { till, send, account_key, project_id } = await serveShop(t, { options: { manage: true } })

  const line = `POST /manage/v1/projects/${project_id}/tokens`
  const reply = await send(line, { account_key, json: { user_id: 'ann', scopes: null } })

  assert.equal(reply.status, 200, reply.text)
  const { scopes } = await till.sessions.authenticate(reply.json<Issued>().token)
  assert.deepEqual(scopes, ['items:read'])
})

test('a user_id in the body of a revocation ends the tokens of this user, not of the project', async (t) => {
  const { till, account, send, token, account_key, project_id } = await serveShop(t, {
    options: { manage: true },
  })
  const { token: own } = await till.sessions.issue(account, { project_id, user_id: 'ann' })
  const revoke = (json: object) =>
    send(`POST /manage/v1/projects/${project_id}/tokens/revoke`, { account_key, json })

  assertProblem(await revoke({ user_id: null }), 400, 'invalid_request')
  assert.deepEqual((await revoke({ user_id: 'ann' })).json(), { project_id, user_id: 'ann' })

  await till.sessions.authenticate(token)
  await assert.rejects(till.sessions.authenticate(own), { code: 'token_required' })
})

test('an issued token names the wrong field', async (t) => {
  const { send, account_key, project_id } = await serveShop(t, { options: { manage: true } })
  const rows: [json: object, field: string][] = [
    [{ ttl_seconds: 59 }, 'ttl_seconds'],
    [{ ttl_seconds: '600' }, 'ttl_seconds'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['everything'] }, 'scopes[0]'],
    [{ user_id: '' }, 'user_id'],
  ]
  for (const [json, field] of rows) {
    const line = `POST /manage/v1/projects/${project_id}/tokens`
    const reply = await send(line, { account_key, json })
    const problem = assertProblem(reply, 400, 'invalid_request')
    assert.equal(problem.errors?.[0]?.field, field)
  }
})

test('a credential in the wrong header is refused with the right one, and the route for it', async (t) => {
  const shop = await serveShop(t, { options: { manage: true } })
  const { send, account_key, token, project_id } = shop
  const json = { id: project_id }
  const bearer = (text: string): Parts => ({ headers: { authorization: `Bearer ${text}` } })
  const [KEY, TOKEN] = ['account_key_required', 'token_required'] as const
  const items = /GET \/manage\/v1\/stores\/\{store_id\}\/items$/
  const rows: [line: string, parts: Parts, code: string, detail: RegExp][] = [
    ['GET /manage/v1/projects', bearer(account_key), KEY, /belongs in x-account-key$/],
    [
      'GET /manage/v1/projects',
      { headers: { authorization: account_key } },
      KEY,
      /in x-account-key$/,
    ],
    ['POST /api/v1/items', { json, ...bearer(account_key) }, KEY, /belongs in x-account-key$/],
    ['GET /manage/v1/projects', { account_key: token }, KEY, /in Authorization: Bearer$/],
    [
      'POST /api/v1/stores',
      { json, account_key: `Bearer ${token}` },
      KEY,
      /Authorization: Bearer$/,
    ],
    ['GET /api/v1/items?store_id=main', bearer(account_key), TOKEN, items],
    ['GET /api/v1/items?store_id=main', { account_key }, TOKEN, items],
    ['GET /api/v1/items/x', { account_key }, TOKEN, /GET \/manage\/v1\/items\/\{id\}$/],
    ['PUT /api/v1/projects', { json, account_key }, TOKEN, /PATCH \/manage\/v1\/projects\/\{id\}$/],
    [
      'POST /api/v1/purchases/import',
      { account_key },
      TOKEN,
      /POST \/manage\/v1\/stores\/\{store_id\}\/imports$/,
    ],
    [
      'GET /api/v1/purchases/owned',
      bearer(account_key),
      TOKEN,
      /GET \/manage\/v1\/stores\/\{store_id\}\/owned$/,
    ],
  ]
  for (const [line, parts, code, detail] of rows) {
    const problem = assertProblem(await send(line, parts), 401, code)
    assert.match(problem.detail, detail, line)
    assert.ok(!JSON.stringify(problem).includes(account_key.slice(3, 20)))
  }
  // With the right header too, the wrong one does not matter.
  const both = await send('GET /api/v1/items?store_id=main', { token, account_key })
  assert.equal(both.status, 200)
})
