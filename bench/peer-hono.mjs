// Another peer: the two item reads with Hono on @hono/node-server, jose and better-sqlite3.
import { subtle } from 'node:crypto'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { jwtVerify } from 'jose'
import { ISSUER, itemOf, openDatabase } from './peer-database.mjs'

const db = await openDatabase(process.argv[2])
const hmac = { name: 'HMAC', hash: 'SHA-256' }
const key = await subtle.importKey('raw', db.key.secret, hmac, false, ['verify'])
const rules = { algorithms: ['HS256'], issuer: ISSUER, clockTolerance: 5 }
const app = new Hono()

app.use('/api/v1/items/*', async (c, next) => {
  const token = /^Bearer (\S+)$/i.exec(c.req.header('authorization') ?? '')?.[1] ?? ''
  const verified = await jwtVerify(token, key, rules).catch(() => undefined)
  const project = verified && db.project.get(verified.payload.project_id)
  if (project?.status !== 'active') return c.json({ error: 'token' }, 401)
  if (!verified.payload.scope.split(' ').includes('items:read')) {
    return c.json({ error: 'scope' }, 401)
  }
  c.set('project', project)
  await next()
})

app.get('/api/v1/items/:item_id', (c) => {
  const found = db.item.get(c.req.param('item_id'))
  if (found?.project_id !== c.get('project').id) return c.json({ error: 'item' }, 404)
  return c.json(itemOf(found))
})

app.get('/api/v1/items', (c) => {
  const { account_id, id } = c.get('project')
  const found = db.store.get(account_id, c.req.query('store_id') ?? '')
  if (found?.project_id !== id) return c.json({ error: 'store_id' }, 400)
  return c.json({ items: db.items.all(found.seq).map(itemOf) })
})

serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  console.log(`http://127.0.0.1:${port}`),
)
