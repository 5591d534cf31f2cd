import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { freePort } from './port.ts'

/** The path of the installed pgbouncer, or undefined. */
export const pgbouncerPath = [
  ...(process.env.PATH ?? '').split(':'),
  '/usr/sbin',
  '/usr/local/sbin',
]
  .map((folder) => join(folder, 'pgbouncer'))
  .find(existsSync)

// pgbouncer refuses to run as root, so it then runs as nobody.
const NOBODY = 65_534
const user = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}

/**
 * Starts pgbouncer with deploy/pgbouncer.ini in front of the database at `url`, with at most `size`
 * connections to it. The URL of the result leads to the same database through pgbouncer.
 */
export async function startPgbouncer(url: string, { size = 10 } = {}) {
  if (pgbouncerPath === undefined) throw new Error('pgbouncer is not installed')
  const { hostname, port, username, password, pathname } = new URL(url)
  const folder = mkdtempSync(join(tmpdir(), 'tillkit-pgbouncer-'))
  const config = join(folder, 'pgbouncer.ini')
  const ownPort = await freePort()
  const users = join(folder, 'userlist.txt')
  writeFileSync(users, `"${username}" "${password}"`)
  const text = readFileSync('deploy/pgbouncer.ini', 'utf8')
    .replace('host=postgres port=5432', `host=${hostname} port=${port}`)
    .replace('listen_addr = *', 'listen_addr = 127.0.0.1')
    .replace('listen_port = 6432', `listen_port = ${ownPort}`)
    .replaceAll('/etc/pgbouncer/userlist.txt', users)
    .replace(/default_pool_size = \d+/, `default_pool_size = ${size}`)
  writeFileSync(config, text)
  chmodSync(folder, 0o755)
  const child = spawn(pgbouncerPath, [config], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (log += text))
  const ended = once(child, 'exit')
  await untilOpen(ownPort, child, () => log)
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${ownPort}${pathname}?prepare=false`,
    log: () => log,
    async stop() {
      child.kill('SIGTERM') // at once; SIGINT waits for the clients
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function untilOpen(port: number, child: ChildProcess, log: () => string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`pgbouncer ended: ${log()}`)
    const socket = connect(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await setTimeout(20)
  }
}
