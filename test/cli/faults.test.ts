import assert from 'node:assert/strict'
import { once } from 'node:events'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statfsSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { openSqliteDriver } from '../../lib/storage/sqlite/drivers.ts'
import { tillkit, tillkitProcess } from '../support/cli.ts'
import { makeReadOnly, smallDisk } from '../support/disk.ts'
import { temporaryFolder } from '../support/folder.ts'
import { createShopFile } from '../support/served.ts'

/** Creates something that is no usable database. Returns the path to open. */
type Obstacle = (folder: string, t: TestContext) => string | undefined | Promise<string | undefined>

const obstacles: { readonly [what: string]: [make: Obstacle, reason: RegExp] } = {
  'a directory instead of a file': [
    (folder) => {
      const path = join(folder, 'till.db')
      mkdirSync(path)
      return path
    },
    /EISDIR|unable to open|directory/,
  ],
  'a missing folder': [(folder) => join(folder, 'none', 'till.db'), /ENOENT|no such file/],
  'a database of another program': [
    async (folder) => {
      const path = join(folder, 'till.db')
      const db = await openSqliteDriver(path)
      db.exec('CREATE TABLE aunts (name TEXT)')
      db.close()
      return path
    },
    /another program/,
  ],
  'a truncated database': [
    async (_folder, t) => {
      const { db: path } = await createShopFile(t)
      writeFileSync(path, readFileSync(path).subarray(0, 5_000))
      return path
    },
    /malformed|not a database|disk I\/O error/,
  ],
  'no database on a full disk': [
    (_folder, t) => {
      const disk = smallDisk(t)
      if (!disk) return undefined
      const { bavail, bsize } = statfsSync(disk)
      writeFileSync(join(disk, 'ballast'), Buffer.alloc(bavail * bsize))
      return join(disk, 'till.db')
    },
    /full|disk I\/O error/,
  ],
  'a database on a read-only disk': [
    async (_folder, t) => {
      const disk = smallDisk(t)
      if (!disk) return undefined
      const { db } = await createShopFile(t)
      copyFileSync(db, join(disk, 'till.db'))
      makeReadOnly(disk) // a mount, because root may write files of any mode
      return join(disk, 'till.db')
    },
    /till\.db is on a read-only disk/,
  ],
}

describe('a database that cannot be opened is an error of one line and exit code 1', () => {
  for (const [what, [make, reason]] of Object.entries(obstacles)) {
    test(what, async (t) => {
      const path = await make(temporaryFolder(t), t)
      if (path === undefined) return
      const commands = [
        ['serve', '--port', '0'],
        ['account', 'create', '--name', 'Studio'],
      ]
      for (const command of commands) {
        const { code, stdout, stderr } = await tillkit([...command, '--db', path])
        assert.deepEqual([code, stdout], [1, ''], stderr)
        assert.match(stderr, /^tillkit: Cannot open the database [^\n]+\n$/)
        assert.ok(stderr.includes(path))
        assert.match(stderr, reason)
        assert.doesNotMatch(stderr, / at |node:|TillError|SQLITE_/)
      }
      const json = await tillkit(['check', '--db', path, '--json'])
      const { status, code } = JSON.parse(json.stdout)
      assert.deepEqual([json.code, status, code], [1, 503, 'storage_unavailable'])
    })
  }
})

for (const workers of ['1', '2']) {
  test(`an unavailable address is an error of one line and exit code 1, with ${workers} workers`, async (t) => {
    const taken = createServer().listen(0, '127.0.0.1')
    t.after(() => taken.close())
    await once(taken, 'listening')
    const { port } = taken.address() as AddressInfo
    const db = join(temporaryFolder(t), 'till.db')
    const addresses = [
      [['--port', String(port)], 'EADDRINUSE'],
      [['--host', '203.0.113.1', '--port', '0'], 'EADDRNOTAVAIL'],
      [['--host', 'nowhere.invalid', '--port', '0'], 'ENOTFOUND|EAI_AGAIN'],
    ] as const
    // Workers are processes, which take long to start.
    const [run, rows] = workers === '1' ? [tillkit, addresses] : [tillkitProcess, [addresses[0]]]
    for (const [address, reason] of rows) {
      const args = ['serve', '--demo', '--db', db, '--workers', workers, ...address]
      const { code, stdout, stderr } = await run(args)
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(stderr, new RegExp(`^tillkit: [^\\n]*(${reason})[^\\n]*\\n`))
      assert.doesNotMatch(stderr, /\n {4}at /)
    }
    const json = await tillkit(['serve', '--db', 'memory:', ...addresses[0][0], '--json'])
    assert.deepEqual([json.code, json.stderr], [1, ''])
    assert.match(JSON.parse(json.stdout).detail, /EADDRINUSE/)
    // A demo would have keys that nobody sees.
    assert.equal(existsSync(db), false)
  })
}
