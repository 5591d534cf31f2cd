import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { commands } from '../../cli/commands.ts'
import { complete } from '../../cli/completion.ts'
import { optionsOf } from '../../cli/options.ts'
import { tillkit } from '../support/cli.ts'
import { temporaryFolder } from '../support/folder.ts'

/** The texts that complete the last word. */
function textsFor(...words: string[]): string[] {
  const lines = complete(words, commands).split('\n').filter(Boolean)
  return lines.map((line) => line.replace(/\t.*/, ''))
}

const TYPES = ['consumable', 'non_consumable', 'subscription']

test('words of commands, values of options and file names are completed', () => {
  const firstWords = [...new Set(commands.map(({ name }) => name.split(' ')[0] ?? ''))]
  const rows: [words: string, texts: string[]][] = [
    ['', firstWords],
    ['pro', ['project']],
    ['account keys ', ['add', 'update', 'list', 'revoke']],
    ['frobnicate ', []],
    ['item create --store main --type ', TYPES],
    ['item create --store main --type n', ['non_consumable']],
    ['item create --name ', []],
    ['completion ', ['bash', 'zsh', 'fish']],
    ['item list --db till', [':files']],
    ['purchases import o', [':files']],
    ['purchases import --dry', ['--dry-run']],
  ]
  for (const [words, texts] of rows) assert.deepEqual(textsFor(...words.split(' ')), texts, words)
  assert.equal(complete(['project', 's'], commands), 'show\tShow a project with its public key\n')
})

test('the options of each command are completed', () => {
  for (const command of commands) {
    const options = Object.keys(optionsOf(command)).map((name) => `--${name}`)
    assert.deepEqual(textsFor(...command.name.split(' '), '--'), options, command.name)
  }
})

test('bash completes words, and file names also with spaces', async (t) => {
  const { stdout: script } = await tillkit(['completion', 'bash'])
  const folder = temporaryFolder(t)
  writeFileSync(join(folder, 'till one.db'), '')
  writeFileSync(join(folder, 'other.csv'), '')
  mkdirSync(join(folder, 'tills'))
  const completeInBash = (...words: string[]) => {
    const run = [
      `tillkit() { '${process.execPath}' '${resolve('dist/cli/main.js')}' "$@"; }`,
      script,
      'COMP_WORDS=(tillkit "$@"); COMP_CWORD=$#; _tillkit',
      `printf '%s\\n' "\${COMPREPLY[@]}"`,
    ]
    const args = ['--norc', '--noprofile', '-c', run.join('\n'), 'bash', ...words]
    const found = execFileSync('bash', args, { cwd: folder, encoding: 'utf8' })
    return found.split('\n').filter(Boolean)
  }

  assert.deepEqual(completeInBash('item', 'create', '--type', ''), TYPES)
  assert.deepEqual(completeInBash('frobnicate', ''), [])
  assert.deepEqual(completeInBash('item', 'list', '--db', 'till').sort(), ['till one.db', 'tills'])
})

test('each shell has a script, and completion opens no database', async () => {
  const env = { TILLKIT_DB: 'mysql://nowhere' }
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { code, stdout } = await tillkit(['completion', shell, '--json'], { env })
    assert.equal(code, 0)
    assert.match(JSON.parse(stdout).script, /tillkit __complete/)
  }
  const { stdout } = await tillkit(['__complete', 'upg'], { env })
  assert.match(stdout, /^upgrade\t/)
})
