import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { commands } from '../../cli/commands.ts'
import { optionsOf } from '../../cli/options.ts'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

let script = ''

before(async () => {
  const env = { TILLKIT_DB: 'mysql://nowhere' } // opens no database
  script = (await tillkit(['completion', 'bash'], { env })).stdout
})

/** The words that bash offers for the last word of each line. */
function completeAll(t: TestContext, lines: readonly string[][], cwd = temporaryFolder(t)) {
  const one = `COMP_WORDS=(tillkit "$@"); COMP_CWORD=$#; $complete; printf '%s\\n' "\${COMPREPLY[@]}"`
  const run = [
    'eval "$1"',
    "complete=$(complete -p tillkit | sed 's/.*-F \\([^ ]*\\).*/\\1/')",
    ...lines.map((words) => `set -- ${words.map((word) => `'${word}'`).join(' ')}; ${one}; echo =`),
  ]
  const args = ['--norc', '--noprofile', '-c', run.join('\n'), 'bash', script]
  const found = execFileSync('bash', args, { cwd, encoding: 'utf8' })
  return found.split('=\n').map((each) => each.split('\n').filter(Boolean))
}

const complete = (t: TestContext, words: string[], cwd?: string) =>
  completeAll(t, [words], cwd)[0] ?? []

test('bash completes the words of a command', (t) => {
  const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0]))]
  assert.deepEqual(complete(t, ['']), firstWords)
  assert.deepEqual(complete(t, ['pro']), ['project'])
  assert.deepEqual(complete(t, ['project', 's']), ['show'])
  assert.deepEqual(complete(t, ['account', 'keys', '']), ['add', 'list', 'revoke'])
  assert.deepEqual(complete(t, ['frobnicate', '']), [])
})

test('bash completes the options of each command', (t) => {
  const found = completeAll(
    t,
    commands.map(({ name }) => [...name.split(' '), '--']),
  )
  for (const [index, command] of commands.entries()) {
    const options = Object.keys(optionsOf(command)).map((name) => `--${name}`)
    assert.deepEqual(found[index], options, command.name)
  }
})

test('bash completes the values of an option, and nothing where any text is possible', (t) => {
  const itemCreate = ['item', 'create', '--store', 'main', '--type']
  assert.deepEqual(complete(t, [...itemCreate, '']), [
    'consumable',
    'non_consumable',
    'subscription',
  ])
  assert.deepEqual(complete(t, [...itemCreate, 'n']), ['non_consumable'])
  assert.deepEqual(complete(t, ['item', 'create', '--name', '']), [])
  assert.deepEqual(complete(t, ['completion', '']), ['bash', 'zsh', 'fish'])
})

test('bash completes file names, also with spaces', (t) => {
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'till one.db'), '')
  writeFileSync(join(folder, 'other.csv'), '')
  mkdirSync(join(folder, 'tills'))
  const found = complete(t, ['item', 'list', '--db', 'till'], folder)
  assert.deepEqual(found.sort(), ['till one.db', 'tills'])
  assert.deepEqual(complete(t, ['purchases', 'import', 'o'], folder), ['other.csv'])
  assert.deepEqual(complete(t, ['purchases', 'import', '--dry'], folder), ['--dry-run'])
})

test('zsh and fish get every command and every option', async () => {
  for (const shell of ['zsh', 'fish']) {
    const { code, stdout } = await tillkit(['completion', shell])
    assert.equal(code, 0)
    for (const { name, options } of commands) {
      assert.ok(stdout.includes(`'${name} *'`) || stdout.includes(`'${name} '*`), name)
      for (const option of Object.keys(options)) {
        assert.ok(stdout.includes(shell === 'fish' ? ` -l ${option} ` : `'--${option}:`), option)
      }
    }
  }
})
