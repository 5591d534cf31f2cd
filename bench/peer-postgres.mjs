// The peer's statements on PostgreSQL, with node-postgres: our tables, prepared statements, and a
// pool of ten connections like ours.
import pg from 'pg'

export async function openPostgres(url) {
  pg.types.setTypeParser(pg.types.builtins.INT8, Number)
  const pool = new pg.Pool({ connectionString: url, max: 10 })
  const ask = (name, text) => (values) => pool.query({ name, text, values })
  const statement = (name, text) => {
    const send = ask(name, text)
    return {
      get: async (...values) => (await send(values)).rows[0],
      all: async (...values) => (await send(values)).rows,
      run: async (...values) => ({ changes: (await send(values)).rowCount }),
    }
  }
  const items = `SELECT i.id, i.name, i.display_name, i.description, i.price, i.type, s.store_id,
    i.metadata, s.project_id FROM items i JOIN stores s ON s.seq = i.store`
  return {
    key: await statement('key', 'SELECT kid, secret FROM signing_keys ORDER BY seq DESC').get(),
    project: statement('project', 'SELECT * FROM projects WHERE id = $1'),
    projectByKey: statement('projectByKey', 'SELECT * FROM projects WHERE public_key = $1'),
    accountByKey: statement('account', 'SELECT account_id FROM account_keys WHERE hash = $1'),
    store: statement('store', 'SELECT * FROM stores WHERE account_id = $1 AND store_id = $2'),
    stores: statement('stores', 'SELECT * FROM stores WHERE project_id = $1 ORDER BY seq'),
    item: statement('item', `${items} WHERE i.id = $1`),
    items: statement('items', `${items} WHERE i.store = $1 ORDER BY i.seq`),
    insertItem: statement(
      'insertItem',
      `INSERT INTO items
         (id, store, name, display_name, description, price, type, metadata, created_at, version)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1) ON CONFLICT (store, name) DO NOTHING`,
    ),
  }
}
