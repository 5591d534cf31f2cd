import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { NewPurchase, PurchaseStatus } from '../../lib/domain/purchase.ts'
import type { Storage } from '../../lib/index.ts'
import type { PurchaseImport } from '../../lib/storage/port.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { createRandom } from '../support/random.ts'
import { soakOnly } from '../support/soak.ts'
import { openImport, purchasesIn } from '../support/storage/imports.ts'
import { insertShops, MAIN, newRow } from '../support/storage/records.ts'

// Recordings, imports, undos and erasures run at once on two servers, in one store. Each writes down
// what the storage has acknowledged. In the end, the store must contain exactly that.

const server = await startPostgres()

test('recordings, imports, undos and erasures on two servers keep what was acknowledged', async (t) => {
  await runMix(t, { seconds: 60, recordings: 150 })
})

test(
  'recordings, imports, undos and erasures keep what was acknowledged for a minute',
  {
    skip: soakOnly,
  },
  (t) => runMix(t, { seconds: 25 }),
)

test(
  'nothing acknowledged is lost while connections are terminated',
  {
    skip: soakOnly,
  },
  (t) => runMix(t, { seconds: 25, killsEvery: 150 }),
)

interface Mix {
  readonly seconds: number
  /** The mix ends earlier when so many recordings are acknowledged. */
  readonly recordings?: number
  /** The milliseconds between two terminations of a connection; without it there are none. */
  readonly killsEvery?: number
}

/** The ids of transactions of which recordings and files share the newest. */
const RECENT = 400
const USERS = 8
/** The purchases of this user are deleted with it; those of the others only lose it. */
const DELETED = 'user_0'

interface Known {
  /** Whether a recording of the id was acknowledged, and whether one failed: it may be stored. */
  isRecorded: boolean
  isUncertain: boolean
  isRefunded: boolean
  /** When the last recording or import of the id ended, by a counter. */
  usedAt: number
}

interface File {
  readonly import_id: string
  readonly ids: ReadonlySet<string>
  state: 'committed' | 'undone' | 'uncertain'
}

async function runMix(t: TestContext, { seconds, recordings, killsEvery }: Mix): Promise<void> {
  const url = await server.emptyDatabase(t)
  const sql = rawPostgres(t, url)
  const codes: { [code: string]: number } = {}
  const postgres = drivenBy((_, send) => {
    const sent = send()
    sent.then(undefined, ({ code }) => {
      codes[code] = (codes[code] ?? 0) + 1
    })
    return sent
  })
  const storages = [
    await openPostgres(t, url, { postgres }),
    await openPostgres(t, url, { postgres }),
  ]
  await insertShops(storages[0] as Storage)

  const random = createRandom()
  const below = (count: number) => Math.floor(random() * count)
  const anyStorage = () => storages[below(storages.length)] as Storage
  const counts: { [what: string]: number } = {}
  const count = (what: string) => {
    counts[what] = (counts[what] ?? 0) + 1
  }
  const known = new Map<string, Known>()
  const files: File[] = []
  const erasedAt = new Map<string, number>()
  let clock = 0
  let newest = 0
  let recorded = 0
  const end = performance.now() + seconds * 1000
  const isOver = () =>
    performance.now() > end || recorded >= (recordings ?? Number.POSITIVE_INFINITY)

  /** A row of a known or new id. The user depends on the id only: it never conflicts. */
  const anyRow = (status: PurchaseStatus): NewPurchase => {
    const number = random() < 0.4 ? ++newest : Math.max(1, newest - below(RECENT))
    const transaction_id = `tx_${number}`
    const row = newRow(number, { transaction_id, user_id: `user_${number % USERS}`, status })
    if (!known.has(transaction_id)) {
      const none = { isRecorded: false, isUncertain: false, isRefunded: false, usedAt: 0 }
      known.set(transaction_id, none)
    }
    return row
  }
  const anyStatus = (): PurchaseStatus =>
    (['pending', 'purchased', 'purchased', 'refunded'] as const)[below(4)] as PurchaseStatus

  /** Counts a failed call. Only terminated connections may cause one. */
  const failed = (what: string, error: unknown) => {
    if (killsEvery === undefined) throw error
    assert.equal((error as { code?: string }).code, 'storage_unavailable', String(error))
    count(`${what} failed`)
  }

  const record = async () => {
    const row = anyRow(anyStatus())
    const about = known.get(row.transaction_id) as Known
    try {
      const result = await anyStorage().recordPurchase(MAIN, `rec_${++clock}`, row)
      count(`recordings ${result?.outcome ?? 'busy'}`)
      assert.notEqual(result?.outcome, 'conflict')
      if (!result) return
      recorded++
      about.isRecorded = true
      about.isRefunded ||= row.status === 'refunded' && result.outcome !== 'skipped'
    } catch (error) {
      about.isUncertain = true
      failed('recordings', error)
    } finally {
      about.usedAt = ++clock
    }
  }

  const abort = async (current: PurchaseImport, import_id: string) => {
    try {
      await current.abort()
    } catch (error) {
      failed('aborts', error)
      await sql`UPDATE imports SET alive_at = 'epoch' WHERE import_id = ${import_id}`
    }
  }

  const importFile = async () => {
    const import_id = `imp_${++clock}`
    const ids = new Set<string>()
    let current: PurchaseImport | undefined
    let isCommitting = false
    try {
      current = await anyStorage().openImport(MAIN, import_id)
      if (!current) return void (await setTimeout(5))
      const status = anyStatus()
      const isOfStatuses = random() < 0.3
      for (let slices = below(4); slices > 0; slices--) {
        const rows = new Map(
          Array.from({ length: 1 + below(40) }, () => anyRow(status)).map((row) => [row.line, row]),
        )
        if (isOfStatuses) await current.advance([...rows.values()])
        else {
          for (const { transaction_id } of rows.values()) ids.add(transaction_id)
          await current.add([...rows.values()])
          if (random() < 0.5) await current.finish()
        }
        if (random() < 0.3) await leap()
        await setTimeout(below(10))
      }
      await current.finish()
      if (random() < 0.15) {
        count('imports aborted')
        await abort(current, import_id)
        return
      }
      isCommitting = true
      await current.commit()
      count('imports committed')
      files.push({ import_id, ids, state: 'committed' })
    } catch (error) {
      if (isCommitting) files.push({ import_id, ids, state: 'uncertain' })
      failed('imports', error)
      if (current) await abort(current, import_id)
    } finally {
      for (const id of ids) (known.get(id) as Known).usedAt = ++clock
    }
  }

  /** Raises the counter to just before the first row of a running import, as recordings do. */
  const leap = async () => {
    const leapt = await sql`UPDATE stores s SET last_purchase = i.first_purchase - 3 FROM imports i
      WHERE i.store = s.seq AND i.owner IS NOT NULL AND i.undone_at IS NULL
        AND s.last_purchase < i.first_purchase - 3`
    if (leapt.count > 0) count('leaps of the counter')
  }

  const undo = async () => {
    const candidates = files.slice(-6).filter(({ state }) => state === 'committed')
    const file = candidates[below(candidates.length)]
    await setTimeout(below(50))
    if (!file) return
    try {
      const undone = {
        import_id: file.import_id,
        undone_at: new Date(0).toISOString(),
        force: false,
      }
      const result = await anyStorage().undoImport(MAIN, undone)
      count(`undos ${result?.outcome ?? 'busy'}`)
      if (result?.outcome === 'undone') file.state = 'undone'
    } catch (error) {
      file.state = 'uncertain'
      failed('undos', error)
    }
  }

  const erase = async () => {
    await setTimeout(below(100))
    const user_id = `user_${below(USERS)}`
    const at = clock
    try {
      const erasure = { user_id, deletes: user_id === DELETED }
      const isErased = await anyStorage().erasePurchases(MAIN, `imp_${++clock}`, erasure)
      count(`erasures ${isErased ? 'done' : 'busy'}`)
      if (isErased) erasedAt.set(user_id, at)
    } catch (error) {
      failed('erasures', error)
    }
  }

  const kill = async () => {
    await setTimeout(killsEvery)
    const killed = await sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'tillkit'
      ORDER BY random() LIMIT 1`
    if (killed.length > 0) count('connections terminated')
    // A failed end of a lease is repeated when it expires.
    await sql`UPDATE imports SET alive_at = 'epoch'
      WHERE owner IS NOT NULL AND alive_at < now() - interval '6 seconds'`
  }

  const repeat = async (work: () => Promise<unknown>) => {
    while (!isOver()) await work()
  }
  const actors = [...Array(6).fill(record), importFile, importFile, importFile, undo, erase]
  if (killsEvery !== undefined) actors.push(kill)
  await Promise.all(actors.map(repeat))

  await sql`UPDATE imports SET alive_at = 'epoch' WHERE owner IS NOT NULL`
  const witness = await openPostgres(t, url)
  await (await openImport(witness, MAIN, 'imp_last')).abort()
  const stored = new Map(
    (await purchasesIn(witness, MAIN)).map((each) => [each.transaction_id, each]),
  )
  if (!soakOnly) console.log(JSON.stringify({ ...counts, stored: stored.size, codes }))

  const problems: string[] = []
  const idsOf = (state: File['state']) =>
    new Set(files.flatMap((file) => (file.state === state ? [...file.ids] : [])))
  const [committed, uncertain] = [idsOf('committed'), idsOf('uncertain')]
  for (const [id, about] of known) {
    const found = stored.get(id)
    const user_id = `user_${Number(id.slice(3)) % USERS}`
    const isAcknowledged = about.isRecorded || committed.has(id)
    const mayBeStored = isAcknowledged || about.isUncertain || uncertain.has(id)
    if (!found && isAcknowledged && user_id !== DELETED) problems.push(`${id} is lost`)
    if (found && !mayBeStored) problems.push(`${id} was not acknowledged`)
    if (found && about.isRefunded && found.status !== 'refunded' && user_id !== DELETED) {
      problems.push(`${id} was refunded, and is ${found.status}`)
    }
    const isErased = about.usedAt <= (erasedAt.get(user_id) ?? -1)
    if (isErased && found?.user_id !== undefined) problems.push(`${id} has an erased user`)
  }
  for (const { import_id, ids, state } of files) {
    if (state !== 'uncertain') continue
    const own = [...ids].filter((id) => !known.get(id)?.isRecorded && !known.get(id)?.isUncertain)
    const others = files.filter((file) => file.import_id !== import_id)
    const alone = own.filter((id) => !others.some((file) => file.ids.has(id)))
    const there = alone.filter((id) => stored.has(id))
    const isDeleted = (id: string) => `user_${Number(id.slice(3)) % USERS}` === DELETED
    const missing = alone.filter((id) => !stored.has(id) && !isDeleted(id))
    if (there.length > 0 && missing.length > 0) problems.push(`${import_id} is half stored`)
  }
  assert.deepEqual(problems, [])
  assert.deepEqual(await witness.check(), [])
  assert.equal(codes['40P01'] ?? 0, 0, 'deadlocks')
  for (const what of ['recordings added', 'imports committed']) assert.ok((counts[what] ?? 0) > 0)
}
