// Readers that follow the audit log on PostgreSQL wait for open transactions of their own database.
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import postgres from 'postgres'
import { createTill, type OutgoingMessage, type Storage } from '../../lib/index.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { outboxOf } from '../support/storage/holding.ts'
import { createShop } from '../support/till.ts'

// A transaction of another test that ends during a claim holds entries back until the next claim.
const server = await startPostgres({ isOwn: true })
/** A database without tables, on the same server. */
const OTHER = await server.createDatabase()

/** A project with a webhook endpoint in a database that no other test uses. */
async function openShop(t: TestContext) {
  const url = await server.emptyDatabase(t)
  const till = createTill({ storage: await openPostgres(t, url) })
  const { account, project_id } = await createShop(till)
  const config = { webhook_url: 'https://hooks.example.com/' }
  await till.projects.update(account, { id: project_id, config })
  const follow = async (cursor?: string) => till.operator.followAudit({ cursor })
  const change = () => till.webhooks.test(account, project_id)
  const claim = async () => (await outboxOf(till).claim()).messages.length
  return { url, till, account, follow, change, claim }
}

/** Begins a transaction that has written to a database. Returns its process, and how to end it. */
async function openTransaction(t: TestContext, url: string) {
  const session = await rawPostgres(t, url).reserve()
  await session`BEGIN`
  await session`SELECT pg_current_xact_id()`
  const [row] = await session<{ pid: number }[]>`SELECT pg_backend_pid() AS pid`
  return { session, pid: row?.pid, end: () => session`ROLLBACK` }
}

function keyOf({ endpoint_id, sequence, part }: OutgoingMessage) {
  return { endpoint_id, sequence, part }
}

test('a transaction in another database of the server holds back no webhook and no reader', async (t) => {
  const other = await openTransaction(t, OTHER)
  const { till, change, claim, follow } = await openShop(t)
  await change()

  assert.equal(await claim(), 1)
  const { entries } = await follow()
  assert.equal(entries.at(-1)?.action, 'webhooks.test')
  assert.equal(await till.operator.openTransaction(), undefined)
  await other.end()
})

test('an endpoint that is created during a transaction of another database gets the next event', async (t) => {
  const { till, account, change, claim } = await openShop(t)
  await openTransaction(t, OTHER)
  await change()
  const { account_id } = account
  const fresh = { account_id, name: 'Next', bundle_id: 'com.example.next', platform: 'mobile' }
  const { id } = await till.projects.create(account, fresh)
  await till.projects.update(account, { id, config: { webhook_url: 'https://next.example.com/' } })

  assert.equal(await claim(), 1)
  await till.webhooks.test(account, id)
  assert.equal(await claim(), 1)
})

test('a transaction in the same database holds webhooks back until it ends, and is found', async (t) => {
  const { url, till, change, claim, follow } = await openShop(t)
  const { pid, end } = await openTransaction(t, url)
  await openTransaction(t, OTHER)
  const before = (await follow()).next
  await change()

  assert.equal(await claim(), 0)
  assert.deepEqual((await follow(before)).entries, [])
  const found = await till.operator.openTransaction()
  assert.equal(found?.holder, `process ${pid} (postgres.js)`)
  assert.ok(found.seconds >= 0 && found.seconds < 30, String(found.seconds))

  await end()
  assert.equal(await claim(), 1)
  assert.equal((await follow(before)).entries.length, 1)
  assert.equal(await till.operator.openTransaction(), undefined)
})

test('entries that a transaction commits late are received, also beside other databases', async (t) => {
  const { url, change, claim } = await openShop(t)
  await openTransaction(t, OTHER)
  const late = await openTransaction(t, url)
  await late.session`
    INSERT INTO audit (at, actor, action, subject, account_id, project_id, store_id, request_id)
    SELECT at, actor, 'webhooks.test', subject, account_id, project_id, store_id, request_id
    FROM audit WHERE action = 'project.update' ORDER BY seq DESC LIMIT 1`
  await change()
  assert.equal(await claim(), 0)

  await late.session`COMMIT`

  assert.equal(await claim(), 2)
})

/** The ways in which the sender moves a position, each with what it read before. */
const MOVES = [
  { move: 'takeMessages', store_id: '', later: 1 },
  { move: 'skipForeign', store_id: 'main', later: 30 },
] as const

for (const { move, store_id, later } of MOVES) {
  test(`a replay just before ${move} is kept, though an open transaction has a later number`, async (t) => {
    const url = await server.emptyDatabase(t)
    const storage = await openPostgres(t, url)
    let meanwhile = async () => {}
    const moving = async (...args: never[]) => {
      await meanwhile()
      return (storage[move] as (...args: never[]) => unknown)(...args)
    }
    const till = createTill({ storage: { ...storage, [move]: moving } as Storage })
    const { account, project_id } = await createShop(till)
    const config = { webhook_url: 'https://hooks.example.com/' }
    await till.projects.update(account, { id: project_id, config })
    const store_config = { ...config, webhook_enabled: true }
    await till.stores.update(account, { store_id: 'main', store_config })
    const endpoint_id = store_id === '' ? project_id : `${project_id}/${store_id}`
    const sent = async () => {
      const found: OutgoingMessage[] = []
      for (let isMore = true; isMore; ) {
        const claim = await outboxOf(till).claim()
        await outboxOf(till).settle(claim.messages.map((each) => ({ ...keyOf(each), status: 200 })))
        found.push(...claim.messages)
        isMore = claim.isMore || claim.messages.length > 0
      }
      return found.filter((each) => each.endpoint_id === endpoint_id).map((each) => each.sequence)
    }
    await sent()
    const late = await openTransaction(t, url)
    await till.webhooks.test(account, endpoint_id)
    await late.session`
      INSERT INTO audit (at, actor, action, subject, account_id, project_id, store_id, request_id)
      SELECT at, actor, action, subject, account_id, project_id, store_id, request_id
      FROM audit ORDER BY seq DESC LIMIT 1`
    await late.session`COMMIT`
    const [first = 0, second = 0] = await sent()
    assert.equal(first, second + 1) // the transaction began first, and took its number last
    for (let n = 0; n < later; n++) await till.webhooks.test(account, project_id)

    meanwhile = async () => {
      meanwhile = async () => {}
      await till.webhooks.replay(account, { endpoint_id, from: first })
    }

    const again = [...(await sent()), ...(await sent())] // the refused move is made by the next claim
    assert.ok(again.includes(first), `${first} is not among ${again}`)
  })
}

test('a transaction of another database that ends while its session is looked for is not reported', async (t) => {
  const url = await server.emptyDatabase(t)
  const till = createTill({ storage: await openPostgres(t, url) })
  let isDone = false
  const others = [1, 2, 3].map(async () => {
    const session = rawPostgres(t, OTHER)
    while (!isDone) await session`SELECT pg_current_xact_id()`
  })
  const found = []
  for (let n = 0; n < 200; n++) found.push(await till.operator.openTransaction())
  isDone = true
  await Promise.all(others)
  assert.deepEqual(new Set(found), new Set([undefined]))
})

test('a prepared transaction counts only in its own database', async (t) => {
  const { url, till, change, claim } = await openShop(t)
  const prepare = async (on: string, name: string) => {
    const { session } = await openTransaction(t, on)
    await session.unsafe(`PREPARE TRANSACTION '${name}'`)
    return () => session.unsafe(`ROLLBACK PREPARED '${name}'`)
  }
  const endOther = await prepare(OTHER, 'other')
  await change()
  assert.equal(await claim(), 1)

  const endOwn = await prepare(url, 'own')
  await change()
  assert.equal(await claim(), 0)
  const found = await till.operator.openTransaction()
  assert.equal(found?.holder, 'prepared transaction own')

  await endOwn()
  assert.equal(await claim(), 1)
  await endOther()
})

test('a role that sees no details of other sessions tells their databases apart, and measures their age itself', async (t) => {
  const admin = await server.createDatabase(t)
  const role = `plain_${process.pid}`
  const database = new URL(admin).pathname.slice(1)
  const sql = postgres(admin, { max: 1, onnotice: () => {} })
  await sql.unsafe(`CREATE ROLE ${role} LOGIN PASSWORD 'plain'`)
  await sql.unsafe(`ALTER DATABASE ${database} OWNER TO ${role}`)
  t.after(async () => {
    await sql.unsafe(`REASSIGN OWNED BY ${role} TO CURRENT_USER; DROP ROLE ${role}`)
    await sql.end()
  })
  const url = new URL(admin)
  url.username = role
  url.password = 'plain'
  const storage = await openPostgres(t, url.href)
  const till = createTill({ storage })
  await till.accounts.create({ name: 'First' })
  await openTransaction(t, OTHER)
  await till.accounts.create({ name: 'Second' })
  assert.equal(await till.operator.openTransaction(), undefined)

  const { pid } = await openTransaction(t, admin)
  await till.accounts.create({ name: 'Third' })
  const first = await till.operator.openTransaction()
  const second = await till.operator.openTransaction()

  assert.equal(first?.holder, `process ${pid} (postgres.js)`)
  assert.ok(second && first && second.seconds > first.seconds && second.seconds < 30)
  await storage.close()
})
