import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { pgbouncerPath, startPgbouncer } from '../support/pgbouncer.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { insertProjects } from '../support/storage/records.ts'

const server = await startPostgres()
const skip = pgbouncerPath === undefined && 'pgbouncer is not installed'

describe('behind pgbouncer in transaction mode', { skip }, () => {
  /** A storage with six connections, which share two connections to the database. */
  async function openBehindPgbouncer(t: TestContext) {
    const url = await server.emptyDatabase(t)
    const pgbouncer = await startPgbouncer(url, { size: 2 })
    t.after(() => pgbouncer.stop())
    const storage = await openPostgres(t, pgbouncer.url, { max: 6 })
    await insertProjects(storage)
    return { storage, sql: rawPostgres(t, url) }
  }

  test('statements of terminated backends fail with storage_unavailable', async (t) => {
    const { storage, sql } = await openBehindPgbouncer(t)
    const others: unknown[] = []
    let isOver = false

    const client = async (id: number) => {
      for (let n = 0; !isOver; n++) {
        const config = { id, n, nested: { list: [n] } }
        const work =
          id % 3 === 0
            ? storage.ping()
            : storage.updateProject('prj_1', (project) => ({ record: { ...project, config } }))
        await work.catch((error) => error.code === 'storage_unavailable' || others.push(error))
      }
    }
    const clients = Array.from({ length: 20 }, (_, id) => client(id))
    for (let fault = 0; fault < 6; fault++) {
      await setTimeout(150)
      await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'tillkit' AND datname = current_database()`
    }
    isOver = true
    await Promise.all(clients)

    assert.deepEqual(others, [])
    assert.equal((await storage.findProject('prj_1'))?.id, 'prj_1')
  })
})

describe('without prepared statements, as pgbouncer requires', () => {
  test('a connection runs one statement at a time, and a write waits for its turn', async (t) => {
    const url = new URL(await server.emptySchema(t))
    url.searchParams.set('prepare', 'false')
    let most = 0
    const driver: ReturnType<typeof drivenBy> = (...settings) => {
      let underWay = 0
      const counted = drivenBy(async (_, send) => {
        most = Math.max(most, ++underWay)
        try {
          return await send()
        } finally {
          underWay--
        }
      })
      return counted(...settings)
    }
    const storage = await openPostgres(t, url.href, { postgres: driver, max: 1 })
    await insertProjects(storage)

    let isWritten = false
    const reader = async () => {
      while (!isWritten) await Promise.all([storage.ping(), storage.findProject('prj_1')])
    }
    const readers = Array.from({ length: 20 }, reader)
    await storage.updateProject('prj_1', (project) => ({ record: { ...project, name: 'New' } }))
    isWritten = true
    await Promise.all(readers)

    assert.equal(most, 1)
    assert.equal((await storage.findProject('prj_1'))?.name, 'New')
  })
})
