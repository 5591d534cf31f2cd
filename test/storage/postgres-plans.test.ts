// run: early
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { createTill, type Storage } from '../../lib/index.ts'
import { catalogPages } from '../../lib/storage/sql/lists.ts'
import { drivenBy, openPostgres, rawPostgres, startPostgres } from '../support/postgres.ts'
import { fill } from '../support/storage/everything.ts'
import { insertShops, MAIN, newItem, newProject, newStore } from '../support/storage/records.ts'
import { newEntry } from '../support/storage/writes.ts'
import { createShop } from '../support/till.ts'

const server = await startPostgres()

type Statement = { readonly sql: string; readonly values: readonly unknown[] }

/** Other rows in every table, so that no table is small enough for a sequential scan. */
const OTHERS = `
  INSERT INTO accounts (account_id, name, created_at)
    SELECT 'acc_o' || n, '', '' FROM generate_series(1, 2000) n;
  INSERT INTO account_keys (key_id, account_id, hash, created_at)
    SELECT 'key_o' || n, 'acc_o' || n, 'hash_o' || n, '' FROM generate_series(1, 2000) n;
  INSERT INTO key_uses SELECT key_id, '' FROM account_keys;
  INSERT INTO projects (id, account_id, name, bundle_id, platform, status, dlscheme, public_key,
    config, created_at) SELECT 'prj_o' || n, 'acc_o' || n, '', '', '', '', '', 'pk_o' || n, '{}', ''
    FROM generate_series(1, 2000) n;
  INSERT INTO former_public_keys (public_key, project_id, expires_at)
    SELECT 'former_o' || n, 'prj_o' || n, '' FROM generate_series(1, 2000) n;
  INSERT INTO stores (account_id, project_id, store_id, store_type, is_sandbox, status,
    store_config, created_at, last_purchase)
    SELECT 'acc_o' || n, 'prj_o' || n, 'main', '', false, '', '{}', '', 10
    FROM generate_series(1, 2000) n;
  INSERT INTO items (id, store, name, display_name, description, price, type, metadata, created_at,
    version) SELECT 'itm_o' || seq || '_' || n, seq, 'sku_' || n, '', '', 1, '', '{}', '', 1
    FROM stores, generate_series(1, 4) n;
  INSERT INTO imports (import_id, store, owner) SELECT 'imp_o' || seq, seq, NULL FROM stores;
  INSERT INTO purchases (store, import, seq, purchased_at, item, quantity, status, transaction_id)
    SELECT store, seq, n, 0, 1, 1, 0, 'tx_' || n FROM imports, generate_series(100, 109) n;
  INSERT INTO deliveries SELECT store, transaction_id, nullif(seq % 10, 0) FROM purchases;
  INSERT INTO purchase_changes (store, purchase, status)
    SELECT store, seq, 1 FROM purchases WHERE store > 100;
  INSERT INTO status_changes (store, import, purchase, before, after)
    SELECT store, import, seq, 1, 0 FROM purchases WHERE store > 100;
  INSERT INTO import_overlaps (import, earlier, rows)
    SELECT seq, seq - 1, 1 FROM imports WHERE seq > 100;
  INSERT INTO erased_purchases (store, transaction_id, is_deleted)
    SELECT store, transaction_id, false FROM purchases WHERE store > 100;
  INSERT INTO watermarks (project_id, user_id, not_after)
    SELECT id, '', 1 FROM projects;
  INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at, expires_at)
    SELECT account_id, 'k', '', '', '', '3' FROM accounts;
  INSERT INTO audit (at, actor, action, subject, account_id, project_id, store_id, request_id)
    SELECT '', '', '', '', account_id, '', '', '' FROM accounts, generate_series(1, 20);
  ANALYZE;
`

/** Changes records of every kind, and calls every method that reads. */
async function useAll(storage: Storage): Promise<void> {
  await fill(storage)
  const key = { key_id: 'key_hash-1' }
  const token = { project_id: 'prj_1', user_id: 'u', issued_under: 1, issued_at: 0 }
  await storage.verifyAuthority({ ...key, token, store: MAIN })
  const quota = { account_id: 'acc_1', project_id: 'prj_1', stores: 100, config_bytes: 1e6 }
  await storage.insertStore(newStore('more'), { quota })
  await storage.insertProject(newProject('prj_4'), { quota: { account_id: 'acc_1', projects: 9 } })
  await storage.insertItem(newItem('bow'), { audit: newEntry(), authority: key })
  const filter = { user_id: 'u', sku: 'gold', status: 'purchased', from: 0, to: 1 } as const
  for (const page of [{ limit: 10 }, { limit: 10, after: '1' }]) {
    await storage.listAccounts(page)
    await storage.listAccountKeys('acc_1', page)
    await storage.listProjects('acc_1', page)
    await storage.listStores('prj_1', page)
    await storage.listStoreSummaries('prj_1', page)
    await storage.listPurchases(MAIN, {}, page)
    await storage.listPurchases(MAIN, { user_id: 'u' }, page)
    await storage.summarizePurchases(MAIN, { user_id: 'u' }, [])
    await storage.summarizePurchases({ account_id: 'acc_1' }, { user_id: 'u' }, [])
    await storage.listPurchases(MAIN, filter, page)
    await storage.listAudit(undefined, page)
    await storage.listAudit('acc_1', page)
  }
  for (const archived of [undefined, true, false]) {
    const items = { ...MAIN, ...(archived !== undefined && { archived }) }
    for (const after of ['', 'itm_gold']) {
      await storage.listItems(items, { limit: 10, ...(after && { after }) })
    }
  }
  await storage.findAccount('acc_1')
  await storage.findAccountByKeyHash('hash-1')
  await storage.findProject('prj_1')
  await storage.findProjectByPublicKey('pk_prj_1')
  await storage.findFormerPublicKey('pk_prj_2')
  await storage.findStore('acc_1', 'main')
  await storage.findStore('acc_1', 'main', 'prj_1')
  await storage.findItem('itm_gold')
  await storage.findItemByName(MAIN, 'gold')
  await storage.listOwned(MAIN, 'u', { limit: 10 }, 0)
  await storage.findTransactions({ account_id: 'acc_1' }, 'tx_1', {}, { limit: 10 })
  await storage.listPurchases(MAIN, { undelivered: true }, { limit: 10 })
  await storage.deliverOrder(MAIN, 'tx_1')
  await storage.refundOrder(MAIN, 'rec_refund', 'tx_1')
  await storage.findWatermark('prj_1', 'u')
  await storage.listUserWatermarks({ project_id: 'prj_1', user_id: 'u' })
  await storage.findIdempotencyRecord('acc_1', 'k')
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Index Name'?: string
  readonly Plans?: readonly Plan[]
}

/** The tables that a plan reads with a sequential scan. System catalogs such as pg_database are small. */
function readWhole(plan: Plan): string[] {
  const table = plan['Relation Name'] ?? ''
  const own = plan['Node Type'] === 'Seq Scan' && !table.startsWith('pg_') ? [table] : []
  return [...own, ...(plan.Plans ?? []).flatMap(readWhole)]
}

function indexesOf({ 'Index Name': name, Plans = [] }: Plan): string[] {
  return [...(name === undefined ? [] : [name]), ...Plans.flatMap(indexesOf)]
}

/** A storage, and the statements that it sends. */
async function openWatched(t: TestContext) {
  const url = await server.createSchema(t)
  const sent = new Map<string, Statement>()
  const postgres = drivenBy((sql, send, values) => {
    sent.set(sql, { sql, values: [...values] })
    return send()
  })
  const storage = await openPostgres(t, url, { postgres })
  const raw = rawPostgres(t, url)
  const findPlans = async (pattern: RegExp, least: number) => {
    const asking = [...sent.values()].filter(({ sql }) => pattern.test(sql))
    assert.ok(asking.length >= least, String(asking.length))
    const plans: { readonly sql: string; readonly plan: Plan }[] = []
    for (const { sql, values } of asking) {
      const [row = assert.fail()] = await raw.unsafe(
        `EXPLAIN (FORMAT JSON) ${sql}`,
        values as never[],
      )
      const [{ Plan: plan }] = row['QUERY PLAN'] as [{ Plan: Plan }]
      plans.push({ sql, plan })
    }
    return plans
  }
  /** Lists the sequential scans of the statements that match, each with its table. */
  const findScans = async (pattern: RegExp, least: number) => {
    const plans = await findPlans(pattern, least)
    return plans.flatMap(({ sql, plan }) => readWhole(plan).map((table) => `${table}: ${sql}`))
  }
  return { storage, raw, sent, findPlans, findScans }
}

test('every query uses an index', async (t) => {
  const { storage, raw, sent, findScans } = await openWatched(t)
  await insertShops(storage)
  await raw.unsafe(OTHERS)
  sent.clear()
  await useAll(storage)

  const scans = await findScans(/ (WHERE|JOIN|VALUES) /, 40)
  assert.deepEqual(
    scans.filter((each) => !each.startsWith('webhook_')), // the next test has their rows
    [],
  )
})

// The planner chose the primary key: an export of 300 items read a database of a million.
test('a page of items reads only the items of its store, of which another one has most', async (t) => {
  const { storage, raw, sent, findPlans } = await openWatched(t)
  await insertShops(storage)
  await raw.unsafe(`
    INSERT INTO items (id, store, name, display_name, description, price, type, metadata, created_at,
        version)
      SELECT 'itm_' || n, (SELECT seq FROM stores WHERE store_id = 'side'), 'sku_' || n, '', '', 1,
        'consumable', '{}', '', 1
      FROM generate_series(1, 20000) n;
    ANALYZE`)
  sent.clear()
  for await (const _ of catalogPages((page) => storage.listItems(MAIN, page)));

  const plans = await findPlans(/text_before/, 1)
  const indexes = plans.flatMap(({ plan }) => indexesOf(plan))
  assert.ok(indexes.includes('items_store'), indexes.join())
  assert.ok(!indexes.includes('items_pkey'), indexes.join())
})

test('the webhook sender never reads the whole audit log', async (t) => {
  const { storage, raw, sent, findScans } = await openWatched(t)
  const till = createTill({ storage })
  const { account, account_id, project_id } = await createShop(till)
  await raw.unsafe(`
    INSERT INTO audit (at, actor, action, subject, account_id, project_id, store_id, request_id)
      SELECT '', '', 'item.create', '', '${account_id}', '${project_id}', 'main', ''
      FROM generate_series(1, 20000);
    ANALYZE`)
  const config = { webhook_url: 'https://hooks.example.com/' }
  await till.projects.update(account, { id: project_id, config })
  await till.webhooks.test(account, project_id)
  sent.clear()
  await till.outbox.claim()
  await till.outbox.backlog()

  const scans = await findScans(/ audit /, 3)
  assert.deepEqual(
    scans.filter((each) => each.startsWith('audit:')),
    [],
  )
})
