// The limit of item creates: bare node:http that inserts the same two rows as ours, with the same
// indexes, in groups. It validates nothing but the account key.
import { createHash, randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import Database from 'better-sqlite3'

const db = new Database(process.argv[2])
db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
const { account_id, key_id, hash } = db.prepare('SELECT * FROM account_keys').get()
const { seq, project_id, store_id } = db.prepare('SELECT * FROM stores').get()
const insertItem = db.prepare(`INSERT INTO items
  (id, store, name, display_name, description, price, type, metadata, created_at, version)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1)`)
const insertAudit = db.prepare(`INSERT INTO audit
  (at, actor, action, subject, account_id, project_id, store_id, request_id)
  VALUES (?, ?, 'item.create', ?, ?, ?, ?, ?)`)

function insert({ name, display_name, description = '', price, type, meta = {} }) {
  const id = `itm_${randomUUID()}`
  const at = new Date().toISOString()
  const rest = [Number(price), type, JSON.stringify(meta), at]
  insertItem.run(id, seq, name, display_name, description, ...rest)
  insertAudit.run(at, `key:${key_id}`, id, account_id, project_id, store_id, randomUUID())
  return JSON.stringify({ id, name, display_name, description })
}

let waiting = []

function writeGroup() {
  const group = waiting
  waiting = []
  db.exec('BEGIN IMMEDIATE')
  const answers = group.map(({ item }) => insert(item))
  db.exec('COMMIT')
  for (const [i, { response }] of group.entries()) {
    response.writeHead(200, { 'content-type': 'application/json' }).end(answers[i])
  }
}

const server = createServer((request, response) => {
  const sent = request.headers['x-account-key'] ?? ''
  const isKnown = createHash('sha256').update(sent).digest('base64url') === hash
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    if (!isKnown) return response.writeHead(401).end()
    if (waiting.length === 0) setImmediate(setImmediate, writeGroup)
    waiting.push({ item: JSON.parse(Buffer.concat(chunks).toString()), response })
  })
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
