import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, symlinkSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { type TestContext, test } from 'node:test'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

/** A folder with a built copy in `my clone`, an installed package, and the command in `bin`. */
function setUp(t: TestContext) {
  const folder = temporaryFolder(t)
  const copies = ['my clone/dist', 'node_modules/tillkit/dist']
  for (const copy of copies) cpSync('dist', join(folder, copy), { recursive: true })
  for (const copy of copies) cpSync('package.json', join(folder, copy, '../package.json'))
  symlinkSync(resolve('node_modules'), join(folder, 'my clone/node_modules')) // the SQLite driver
  for (const place of ['bin', 'node_modules/.bin']) {
    mkdirSync(join(folder, place))
    symlinkSync(
      join(folder, 'node_modules/tillkit/dist/cli/main.js'),
      join(folder, place, 'tillkit'),
    )
  }
  const env = { ...process.env, PATH: `${join(folder, 'bin')}:${process.env.PATH}` }
  const run = (script: string, cwd = folder) => {
    const { stdout, stderr } = spawnSync('bash', ['-c', script], { cwd, env, encoding: 'utf8' })
    return stdout + stderr
  }
  return { folder, run }
}

test('a hint can be pasted, however the program was started', async (t) => {
  const { folder, run } = setUp(t)
  const starts: readonly (readonly [command: string, hinted: string, folder?: string])[] = [
    ['node dist/cli/main.js', 'node dist/cli/main.js', 'my clone'],
    [`node '${folder}/my clone/dist/cli/main.js'`, 'node dist/cli/main.js', 'my clone'],
    ["node 'my clone/dist/cli/main.js'", "node 'my clone/dist/cli/main.js'"],
    ['tillkit', 'tillkit'],
    ['node_modules/.bin/tillkit', 'npx tillkit'],
    ['node node_modules/tillkit/dist/cli/main.js', 'npx tillkit'],
  ]
  for (const [command, hinted, place = ''] of starts) {
    const cwd = join(folder, place)
    assert.ok(
      run(`${command} account create`, cwd).endsWith(`See ${hinted} account create --help\n`),
    )
    assert.match(run(`${hinted} account create --help`, cwd), /\nOptions:\n/)
    assert.ok(run(`${command} item create --help`, cwd).includes(`\nUsage: ${hinted} item create`))
    assert.ok(run(`${command} item create --help`, cwd).includes(`\n  ${hinted} item create --st`))
  }
})

test('a hint names the database file of the command, and never a URL with a password', async (t) => {
  const { folder, run } = setUp(t)
  const start = 'node dist/cli/main.js'
  const place = join(folder, 'my clone')
  run(
    `${start} account create --name A --db 'my shop.db'; ${start} account create --name B --db 'my shop.db'`,
    place,
  )
  const several = run(`${start} project list --db 'my shop.db'`, place)
  const [, hinted = ''] = /there are several: (.*)\n/.exec(several) ?? []
  assert.equal(hinted, `${start} account list --db 'my shop.db'`)
  assert.match(run(hinted, place), /^acc_\w+ +A .*\nacc_\w+ +B /m)

  const url = 'postgres://till:s3cret@127.0.0.1:1/till'
  const { stderr } = await tillkit(['item', 'list', '--db', url])
  assert.doesNotMatch(stderr, /s3cret.*--db|--db.*s3cret/)
})

test('without a command, the program prints one screen, and --help prints all', async () => {
  const { code, stdout } = await tillkit([])
  const lines = stdout.trimEnd().split('\n')
  assert.equal(code, 0)
  assert.ok(lines.length <= 24, stdout)
  assert.ok(
    lines.every((line) => line.length <= 80),
    stdout,
  )
  const named = stdout.match(/^ {2}[a-z]+(?: [a-z]+)?(?= {2})/gm)
  assert.equal(named?.length, 13, 'each first command exists')
  assert.match(stdout, /^List all \d+ commands: +tillkit --help$/m)
  const whole = await tillkit(['--help'])
  assert.match(whole.stdout, /^ {2}secrets drop /m)
  assert.equal((await tillkit(['help'])).stdout, whole.stdout)
})
