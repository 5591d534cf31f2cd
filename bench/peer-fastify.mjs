// The peer: four of our endpoints, written carefully with Fastify, @fastify/jwt and better-sqlite3
// or pg, with schemas for requests and answers, on our database.
import { createHash, randomUUID } from 'node:crypto'
import jwt from '@fastify/jwt'
import fastify from 'fastify'
import { ISSUER, itemOf, openDatabase } from './peer-database.mjs'

const LIFETIME = 3600

const text = (maxLength, minLength = 0) => ({ type: 'string', minLength, maxLength })
const strings = (...names) => Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
const object = (properties) => ({ type: 'object', properties })
const required = (properties, ...names) => ({ ...object(properties), required: names })
const answers = (properties) => ({ 200: object(properties) })

const item = {
  ...strings('id', 'name', 'display_name', 'description'),
  price: { type: 'integer' },
  ...strings('type', 'store_id'),
  metadata: { type: 'object', additionalProperties: true },
}
const newItem = {
  store_id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
  name: { type: 'string', pattern: '^[A-Za-z0-9_]{1,255}$' },
  display_name: text(255, 1),
  description: text(4096),
  price: { type: 'string', pattern: '^[0-9]{1,15}$' },
  type: { enum: ['consumable', 'non_consumable', 'subscription'] },
  meta: { type: 'object' },
}
const device = {
  device_id: text(255),
  platform: { enum: ['ios', 'android', 'web'] },
  os_version: text(255),
  app_version: text(255),
}
const project = strings('id', 'name', 'bundle_id', 'platform', 'status', 'dlscheme')
const session = { ...strings('token', 'expires_at'), expires_in_seconds: { type: 'integer' } }
const store = {
  ...strings('id', 'store_type'),
  is_sandbox: { type: 'boolean' },
  ...strings('status'),
}

const db = await openDatabase(process.argv[2])
const app = fastify({ ajv: { customOptions: { coerceTypes: false } } })
app.register(jwt, {
  secret: db.key.secret,
  sign: { algorithm: 'HS256', iss: ISSUER, expiresIn: LIFETIME, kid: db.key.kid },
  verify: { algorithms: ['HS256'], allowedIss: ISSUER, clockTolerance: 5 },
})
app.decorateRequest('project', null)
app.decorateRequest('account', null)

async function bearer(request, reply) {
  await request.jwtVerify()
  request.project = await db.project.get(request.user.project_id)
  if (request.project?.status !== 'active') reply.code(401).send({ error: 'token' })
  else if (!request.user.scope.split(' ').includes('items:read')) {
    reply.code(401).send({ error: 'scope' })
  }
}

async function publicKey(request, reply) {
  request.project = await db.projectByKey.get(request.headers['x-public-project-key'])
  if (request.project?.status !== 'active') reply.code(400).send({ error: 'public key' })
}

async function accountKey(request, reply) {
  const key = request.headers['x-account-key'] ?? ''
  request.account = await db.accountByKey.get(createHash('sha256').update(key).digest('base64url'))
  if (!request.account) reply.code(401).send({ error: 'account key' })
}

app.get(
  '/api/v1/items/:item_id',
  { onRequest: bearer, schema: { response: answers(item) } },
  async (request, reply) => {
    const found = await db.item.get(request.params.item_id)
    if (found?.project_id !== request.project.id) return reply.code(404).send({ error: 'item' })
    return itemOf(found)
  },
)

app.get(
  '/api/v1/items',
  {
    onRequest: bearer,
    schema: {
      querystring: required(strings('store_id'), 'store_id'),
      response: answers({ items: { type: 'array', items: object(item) } }),
    },
  },
  async (request, reply) => {
    const { account_id, id } = request.project
    const found = await db.store.get(account_id, request.query.store_id)
    if (found?.project_id !== id) return reply.code(400).send({ error: 'store_id' })
    return { items: (await db.items.all(found.seq)).map(itemOf) }
  },
)

app.post(
  '/api/v1/items',
  {
    onRequest: accountKey,
    schema: {
      body: required(newItem, 'store_id', 'name', 'display_name', 'price', 'type'),
      response: answers(strings('id', 'name', 'display_name', 'description')),
    },
  },
  async (request, reply) => {
    const { store_id, name, display_name, description = '', price, type, meta = {} } = request.body
    const found = await db.store.get(request.account.account_id, store_id)
    if (!found) return reply.code(400).send({ error: 'store_id' })
    const id = `itm_${randomUUID()}`
    const rest = [Number(price), type, JSON.stringify(meta), new Date().toISOString()]
    const { changes } = await db.insertItem.run(
      id,
      found.seq,
      name,
      display_name,
      description,
      ...rest,
    )
    if (changes === 0) return reply.code(400).send({ error: 'name' })
    return { id, name, display_name, description }
  },
)

app.post(
  '/api/v1/identity/auth/init',
  {
    onRequest: publicKey,
    schema: {
      body: required({ user_id: text(255, 1), device_info: object(device) }, 'user_id'),
      response: answers({
        project: object(project),
        session: object(session),
        stores: { type: 'array', items: object(store) },
      }),
    },
  },
  async (request) => {
    const scope = 'items:read projects:write purchases:import'
    const { project } = request
    const { user_id } = request.body
    const now = Math.floor(Date.now() / 1000)
    const token = app.jwt.sign({ sub: user_id, project_id: project.id, scope, jti: randomUUID() })
    const expires_at = new Date((now + LIFETIME) * 1000).toISOString().replace('.000', '')
    const stores = (await db.stores.all(project.id))
      .filter(({ status }) => status !== 'disabled' && status !== 'archived')
      .map(({ store_id, is_sandbox, ...rest }) => ({
        ...rest,
        id: store_id,
        is_sandbox: Boolean(is_sandbox),
      }))
    return { project, session: { token, expires_at, expires_in_seconds: LIFETIME }, stores }
  },
)

console.log(await app.listen({ host: '127.0.0.1', port: 0 }))
