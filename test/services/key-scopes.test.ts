import assert from 'node:assert/strict'
import { decodeJwt } from 'jose'
import { type Account, createTill, KEY_SCOPES, type KeyScope, type Till } from '../../lib/index.ts'
import { testOnEach as test } from '../support/databases.ts'
import { createShop, failureOf, openStorage, type Shop } from '../support/till.ts'

const URL = 'https://hooks.example.com/till'

/** A caller with a new key of the shop. */
async function keyWith({ till, account }: Shop, scopes?: readonly KeyScope[]) {
  const { account_key } = await till.accounts.addKey(account, { scopes })
  return till.accounts.authenticate(account_key)
}

/** The message of a refused call. */
async function refusalOf(call: Promise<unknown>) {
  const { code, message, details } = await failureOf(call)
  assert.equal(code, 'insufficient_scope')
  assert.equal(details[0]?.field, 'x-account-key')
  return message.replace('The account key does not have the scope ', '')
}

test('a key sets on any key, itself included, only scopes that it has', async () => {
  const shop = await createShop()
  const { accounts } = shop.till
  const admin = await keyWith(shop, ['admin', 'read'])
  const full = await keyWith(shop)
  const set = (key_id: string, scopes: readonly KeyScope[]) =>
    accounts.updateKey(admin, { key_id, scopes })

  assert.equal(await refusalOf(accounts.addKey(admin)), 'catalog')
  assert.equal(await refusalOf(accounts.addKey(admin, { scopes: ['read', 'users'] })), 'users')
  assert.equal(await refusalOf(set(admin.key_id, ['admin', 'tokens'])), 'tokens')
  assert.equal(await refusalOf(set(full.key_id, KEY_SCOPES)), 'catalog')

  const added = await accounts.addKey(admin, { scopes: ['read', 'admin', 'read'] })
  assert.deepEqual(added.scopes, ['read', 'admin'])
  const named = await accounts.updateKey(admin, { key_id: full.key_id, name: 'Server' })
  assert.deepEqual([named.name, named.scopes], ['Server', undefined])
  assert.deepEqual((await set(full.key_id, ['read'])).scopes, ['read'])
  assert.equal(
    await refusalOf(accounts.updateKey(full, { key_id: full.key_id, name: 'x' })),
    'admin',
  )
  assert.deepEqual((await set(admin.key_id, ['read'])).scopes, ['read'])
  assert.equal(await refusalOf(accounts.addKey(admin, { scopes: ['read'] })), 'admin')

  const listed = await accounts.listKeys(shop.account)
  const scopesOf = listed.map(({ scopes }) => scopes)
  assert.deepEqual(scopesOf, [undefined, ['read'], ['read'], ['read', 'admin']])
})

test('a key with a list of all scopes gives a list, and not the scopes of later versions', async () => {
  const shop = await createShop()
  const key = await keyWith(shop, KEY_SCOPES)

  const added = await shop.till.accounts.addKey(key)

  assert.deepEqual(added.scopes, KEY_SCOPES)
})

test('scopes must be a list of known ones, and only a key of the account that is valid is changed', async () => {
  const { till, account } = await createShop()
  const { key_id } = await till.accounts.addKey(account)
  for (const scopes of [[], ['write'], 'read', [null]]) {
    const { code, details } = await failureOf(
      till.accounts.updateKey(account, { key_id, scopes: scopes as never }),
    )
    assert.equal(code, 'invalid_request')
    assert.match(details[0]?.field ?? '', /^scopes/)
  }
  const other = await createShop(till, 'Other')
  await till.accounts.revokeKey(account, key_id)
  for (const key_id_of of [key_id, other.account.key_id, 'key_none']) {
    const change = { key_id: key_id_of, scopes: ['read' as const] }
    const { code } = await failureOf(till.accounts.updateKey(account, change))
    assert.equal(code, 'account_key_not_found')
  }
})

test('scopes change at once in every process, also for a write that has begun', async () => {
  const storage = await openStorage()
  const shop = await createShop(createTill({ storage }))
  const { till, account, project_id: id } = shop
  const other = createTill({ storage })
  const { account_key, key_id } = await till.accounts.addKey(account)
  const begun = await other.accounts.authenticate(account_key, { isForWrite: true })
  const scope = 'catalog'

  await till.accounts.updateKey(account, { key_id, scopes: ['read', 'admin'] })

  assert.equal(await refusalOf(other.projects.update(begun, { id, name: 'New' })), scope)
  assert.equal(await refusalOf(other.accounts.addKey(begun)), scope)
  const authenticate = (isForWrite?: boolean) =>
    other.accounts.authenticate(account_key, { isForWrite, scope })
  assert.equal(await refusalOf(authenticate()), scope)
  await till.accounts.updateKey(account, { key_id, scopes: [scope] })
  await other.projects.update(await authenticate(true), { id, name: 'New' })
})

test('a key gives a token no more than it has itself, except to read items', async () => {
  const shop = await createShop()
  const { project_id } = shop
  const issue = async (key: Parameters<Till['sessions']['issue']>[0], scopes?: never) =>
    decodeJwt((await shop.till.sessions.issue(key, { project_id, scopes })).token).scope
  const tokens = await keyWith(shop, ['tokens'])
  const seller = await keyWith(shop, ['tokens', 'purchases'])
  const all = await keyWith(shop, ['tokens', 'purchases', 'catalog'])

  assert.equal(await refusalOf(issue(tokens, ['projects:write'] as never)), 'catalog')
  assert.equal(await refusalOf(issue(tokens, ['purchases:import'] as never)), 'purchases')
  assert.equal(await refusalOf(issue(seller, ['projects:write'] as never)), 'catalog')
  assert.equal(
    await refusalOf(issue(await keyWith(shop, ['read']), ['items:read'] as never)),
    'tokens',
  )
  assert.equal(await issue(tokens), 'items:read')
  assert.equal(await issue(seller, ['purchases:import'] as never), 'purchases:import')
  const both = ['projects:write', 'purchases:import']
  assert.equal(await issue(all, both as never), both.join(' '))
})

const config = { webhook_url: URL, webhook_secret: 'secret' }
const store_config = { ...config, webhook_enabled: true }

/** The ways to set a webhook URL, and the endpoint that gets it. */
const WAYS: Record<string, (shop: Shop, caller: Account) => Promise<string>> = {
  'projects.create': async ({ till, account_id }, caller) =>
    (
      await till.projects.create(caller, {
        ...{ account_id, name: 'Second', bundle_id: 'com.example.second', platform: 'web', config },
      })
    ).id,
  'projects.update': async ({ till, project_id: id }, caller) =>
    (await till.projects.update(caller, { id, config })).id,
  'stores.create': async ({ till, project_id }, caller) => {
    const store = { project_id, store_type: 'web' as const, store_config }
    return `${project_id}/${(await till.stores.create(caller, store)).store_id}`
  },
  'stores.update': async ({ till, project_id }, caller) => {
    await till.stores.update(caller, { store_id: 'main', store_config })
    return `${project_id}/main`
  },
  'catalog.apply for the project': async ({ till, project_id }, caller) => {
    const project = { id: project_id, config: { webhook_url: URL } }
    await till.catalog.apply(caller, { catalog: { project } as never })
    return project_id
  },
  'catalog.apply for a store': async ({ till, project_id }, caller) => {
    const store = {
      store_id: 'new',
      store_type: 'web',
      store_config: { webhook_enabled: true, webhook_url: URL },
    }
    const catalog = { stores: [store] } as never
    await till.catalog.apply(caller, { project_id, catalog, create_stores: true })
    return `${project_id}/new`
  },
}

for (const [name, set] of Object.entries(WAYS)) {
  test(`what a key without admin sets of webhooks waits for a confirmation: ${name}`, async () => {
    const shop = await createShop()
    const { webhooks } = shop.till
    const endpoint_id = await set(shop, await keyWith(shop, ['catalog']))
    const { state, url, unconfirmed_url } = await webhooks.get(shop.account, endpoint_id)
    assert.deepEqual([state, url, unconfirmed_url], ['unconfirmed', '', URL])
    const key = await keyWith(shop, ['catalog', 'read', 'purchases', 'tokens', 'users'])
    assert.equal(await refusalOf(webhooks.confirm(key, { endpoint_id })), 'admin')
    await webhooks.confirm(await keyWith(shop, ['admin']), { endpoint_id, url: URL })
    assert.equal((await webhooks.get(shop.account, endpoint_id)).state, 'active')

    const fresh = await createShop()
    const trusted = await set(fresh, await keyWith(fresh, ['catalog', 'admin']))
    assert.equal((await fresh.till.webhooks.get(fresh.account, trusted)).state, 'active')
  })

  test(`a key that loses admin meanwhile activates no webhook: ${name}`, async () => {
    const shop = await createShop()
    const { till, account } = shop
    const key = await keyWith(shop)
    await till.accounts.updateKey(account, { key_id: key.key_id, scopes: ['catalog'] })

    assert.equal(await refusalOf(set(shop, key)), 'admin')

    const { endpoints } = await till.webhooks.list(account)
    assert.deepEqual(endpoints, [])
  })
}

test('a key without admin changes other settings of a project, and its webhook stays active', async () => {
  const shop = await createShop()
  const { till, account, project_id: id } = shop
  await till.projects.update(account, { id, config })
  const key = await keyWith(shop, ['catalog'])

  await till.projects.update(key, { id, config: { ...config, sandbox_enabled: true } })
  const kept = await till.webhooks.get(account, id)
  assert.deepEqual([kept.state, kept.unconfirmed_url], ['active', undefined])
  await till.projects.update(key, { id, config: { webhook_url: 'https://evil.example/' } })
  await till.projects.update(account, { id, name: 'New' })

  const { url, unconfirmed_url } = await till.webhooks.get(account, id)
  assert.deepEqual([url, unconfirmed_url], [URL, 'https://evil.example/'])
})
