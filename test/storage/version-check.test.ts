import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { Sql } from 'postgres'
import type { Checked } from '../../lib/storage/cache/version-checks.ts'
import { createVersionCheck, type Version } from '../../lib/storage/postgres/version-check.ts'
import { openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'

const server = await startPostgres()

/** An empty audit log, and the check of its changes. */
async function openLog(t: TestContext) {
  const url = await server.emptySchema(t)
  await openPostgres(t, url)
  const sql = rawPostgres(t, url)
  const db = {
    async find(statement: string, ...values: (string | number)[]) {
      return (await sql.unsafe(statement, values))[0]
    },
  }
  return { sql, check: createVersionCheck(db) }
}

/** Inserts entries with the subject, or with numbers as subjects. */
async function insertEntries(
  sql: Pick<Sql, 'unsafe'>,
  subject: string,
  { action = 'item.create', count = 1, xid = 'DEFAULT' } = {},
): Promise<void> {
  const values = `'', '', '${action}', '${subject}' || i, '', '', '', ''`
  const columns = 'at, actor, action, subject, account_id, project_id, store_id, request_id'
  const [column, value] = xid === 'DEFAULT' ? ['', ''] : [', xid', `, '${xid}'`]
  await sql.unsafe(`INSERT INTO audit (${columns}${column})
    SELECT ${values}${value} FROM generate_series(1, ${count}) AS i`)
}

/** Removes duplicates, because several index scans of a check may find the same entry. */
function subjectsIn({ changes }: Checked<Version>): (string | undefined)[] {
  const subjects = (changes ?? assert.fail('unknown changes')).map(({ subject }) => subject)
  return [...new Set(subjects)]
}

describe('a version check', () => {
  test('does not know the changes on another server, after a minute, or when there are too many', async (t) => {
    const { sql, check } = await openLog(t)
    const { version: known = assert.fail() } = await check()

    const unknown = [
      await check({ ...known, server: 'another' }),
      await check({ ...known, at: known.at - 61 }),
      await check({ ...known, at: known.at + 61 }),
    ]
    await insertEntries(sql, '', { count: 5_000 })
    unknown.push(await check(known))

    const changes = unknown.map(({ changes }) => changes)
    assert.deepEqual(changes, [undefined, undefined, undefined, undefined])
  })

  test('finds an entry whose transaction id was reused after a crash, and ignores those of another server', async (t) => {
    const { sql, check } = await openLog(t)
    const { version } = await check()
    await insertEntries(sql, 'new')
    const { version: later } = await check(version)

    // The snapshot from before the crash contains the transaction id, but the number is new.
    const found = await check({ ...(later as Version), last: (version as Version).last })

    assert.deepEqual(subjectsIn(found), ['new1'])
    await insertEntries(sql, 'restored', { xid: '999999999999' }) // by a dump
    const restored = await check()
    assert.deepEqual(subjectsIn(await check(restored.version)), [])
  })

  test('keeps one plan for all values, because planning takes longer than the check', async (t) => {
    const { sql } = await openLog(t)
    const own = await sql.reserve()
    const find = async (statement: string, ...values: (string | number)[]) =>
      (await own.unsafe(statement, values, { prepare: true }))[0]
    const check = createVersionCheck({ find } as never)
    let version: Version | undefined
    for (let i = 0; i < 12; i++) {
      await insertEntries(sql, '')
      version = (await check(version)).version
    }

    const plans = await own`SELECT custom_plans::int, generic_plans::int FROM pg_prepared_statements
      WHERE custom_plans > 0`
    own.release()
    assert.deepEqual([...plans], [{ custom_plans: 5, generic_plans: 7 }])
  })
})
