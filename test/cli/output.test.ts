import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { commands } from '../../cli/commands.ts'
import type { OutputStream } from '../../cli/io.ts'
import { createOutput, printFile, wrapLines } from '../../cli/output.ts'
import { createIo } from '../support/cli.ts'
import { createShopFile } from '../support/served.ts'

/** The lines of a table, printed to a terminal of some columns or to a pipe. */
function print(
  columns: number | 'pipe',
  ...table: Parameters<ReturnType<typeof createOutput>['table']>
) {
  const sent: string[] = []
  const write = (text: string) => sent.push(text)
  const stream = columns === 'pipe' ? { write } : { isTTY: true, columns, write }
  const stdout = stream as unknown as OutputStream
  createOutput({ stdout, stderr: stdout }, false).table(...table)
  return sent.join('').trimEnd().split('\n')
}

const PURCHASES = [
  { id: 'GPA.3345-1234', at: '2026-01-31T12:00:00.000Z', user: 'ann', price: 499 },
  { id: 'T-1', at: '2026-02-01T08:30:00.000Z', user: 'bob', price: 1299 },
]
const COLUMNS = ['id', 'at', 'user', 'price']
const NARROWING = ['at…', 'user']

test('a table on a narrow terminal shortens columns, and then omits some and names them', () => {
  const header = 'id             at                        user  price'
  for (const columns of ['pipe', 52] as const) {
    assert.deepEqual(print(columns, PURCHASES, COLUMNS, NARROWING), [
      header,
      'GPA.3345-1234  2026-01-31T12:00:00.000Z  ann     499',
      'T-1            2026-02-01T08:30:00.000Z  bob    1299',
    ])
  }
  assert.equal(
    print(45, PURCHASES, COLUMNS, NARROWING)[2],
    'T-1            2026-02-01T08:30…  bob    1299',
  )
  assert.deepEqual(print(38, PURCHASES, COLUMNS, NARROWING), [
    'id             at                price',
    'GPA.3345-1234  2026-01-31T12:0…    499',
    'T-1            2026-02-01T08:3…   1299',
    '(no room for user: see --json)',
  ])
  const ids = print(10, PURCHASES, COLUMNS, NARROWING).map((line) => line.slice(0, 13))
  assert.equal(ids[1], 'GPA.3345-1234', 'ids are never shortened')
})

test('a terminal that does not tell its width has 80 columns', () => {
  const rows = [{ id: 'acc_1', name: 'x'.repeat(100) }]
  const lines = print(0, rows, ['id', 'name'], ['name…'])
  assert.deepEqual(lines[1], `acc_1  ${'x'.repeat(72)}…`)
})

test('wide characters, emoji and combining marks keep the columns aligned', () => {
  const names = ['東京ゲーム', '👩‍👩‍👧 fam', 'Zoë', 'ｆｕｌｌ', '한국', '🇩🇪', '\u200b']
  const rows = names.map((name) => ({ name: name.normalize('NFD'), end: '|' }))
  // The widths on a terminal.
  const widths = [10, 6, 3, 8, 4, 2, 0]
  const [, ...lines] = print('pipe', rows, ['name', 'end'])
  assert.deepEqual(
    lines,
    rows.map(({ name }, i) => `${name}${' '.repeat(10 - (widths[i] ?? 0))}  |`),
  )
  const cut = print(16, rows, ['name', 'end'], ['name…'])
  assert.deepEqual(cut, print('pipe', rows, ['name', 'end']))
  const long = [{ name: '東京ゲーム東京ゲーム', end: '|' }]
  assert.equal(print(16, long, ['name', 'end'], ['name…'])[1], '東京ゲーム…  |')
})

test('control and bidi characters are escaped, also those that JSON does not escape', () => {
  const rows = [{ name: 'a\u001b[2Jb\u009b2Jc\u007f\u0085d\u202ee\u2066f\u200eg\u2028h\n' }]
  const [, line] = print('pipe', rows, ['name'])
  const shown = 'a\\u001b[2Jb\\u009b2Jc\\u007f\\u0085d\\u202ee\\u2066f\\u200eg\\u2028h\\n'
  assert.equal(line, shown)
})

test('a table may have 200,000 rows', () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => ({ i }))
  assert.equal(print('pipe', rows, ['i']).length, 200_001)
})

const terminal = (columns: number) => ({ isTTY: true, columns }) as OutputStream
const TEXT = `tillkit: The purchase file has mistakes
  line 12, purchased_at must be a time with a zone
  line 13: /a/path/that/is/longer/than/any/line`

test('a long error message wraps at words on a terminal, with an indent', () => {
  assert.deepEqual(wrapLines(TEXT, terminal(30)).split('\n'), [
    'tillkit: The purchase file',
    '    has mistakes',
    '  line 12, purchased_at must',
    '      be a time with a zone',
    '  line 13:',
    '      /a/path/that/is/longer/than/any/line',
  ])
  assert.equal(wrapLines(TEXT, terminal(60)), TEXT)
  assert.equal(wrapLines(TEXT, {} as OutputStream), TEXT)
})

test('an error message fits a real terminal', (t) => {
  if (process.platform !== 'linux') return t.skip('script(1) has other options elsewhere')
  const list = 'stty cols 50; node dist/cli/main.js account list --db mysql://db/till'
  const shown = execFileSync('script', ['-qc', list, '/dev/null'], { encoding: 'utf8' })
  assert.deepEqual(shown.split('\r\n'), [
    'tillkit: mysql://… is no database: use a file,',
    '    postgres://… or memory:',
    'See node dist/cli/main.js account list --help',
    '',
  ])
})

// The 8-bit form of ESC [, a right-to-left override, and characters that move the cursor.
const HOSTILE = 'a\u009b2J\u202eb\rc\u007f\u2028'

test('JSON has no character that changes the terminal, and keeps its value', async () => {
  const sent: string[] = []
  const stream = { write: (text: string) => sent.push(text) > 0 } as unknown as OutputStream
  const output = createOutput({ stdout: stream, stderr: stream }, true)
  async function* rows() {
    yield { name: HOSTILE }
  }

  output.record({ name: HOSTILE })
  await output.list('rows', rows(), [])

  for (const text of sent) assert.match(text, /^[ -~\n]*$/)
  const [record = '', ...list] = sent
  assert.deepEqual(JSON.parse(record), { name: HOSTILE })
  assert.deepEqual(JSON.parse(list.join('')), { rows: [{ name: HOSTILE }] })
})

test('with --json, a list is an object with one named array', async (t) => {
  const { json, project_id, ofStore, ofProject } = await createShopFile(t)
  const names = commands.map(({ name }) => name).filter((name) => / (list|log)$/.test(name))
  const more: { readonly [name: string]: readonly string[] } = {
    'store list': ofProject,
    'item list': ofStore,
    'imports list': ofStore,
    'purchases list': ofStore,
    'purchases owned': [...ofStore, '--user', 'player-1'],
    'webhooks log': [project_id],
  }
  await json('project', 'update', ...ofProject, '--config', '{"webhook_url":"https://a.example"}')
  const found = await Promise.all(
    [...names, 'purchases owned', 'purchases summary'].map(async (name) => {
      const printed = await json(...name.split(' '), ...(more[name] ?? []))
      const [array, ...others] = Object.keys(printed).filter((key) => key !== 'next')
      assert.deepEqual(others, [], name)
      assert.ok(Array.isArray(printed[array ?? '']), name)
      return `${name}: ${array}`
    }),
  )
  assert.deepEqual(found.sort(), [
    'account keys list: keys',
    'account list: accounts',
    'audit list: entries',
    'imports list: imports',
    'item list: items',
    'keys list: keys',
    'project list: projects',
    'purchases list: purchases',
    'purchases owned: owned',
    'purchases summary: summaries',
    'store list: stores',
    'webhooks list: endpoints',
    'webhooks log: deliveries',
  ])
})

test('a file that is printed on a terminal does not change the terminal, and is complete in a pipe', async () => {
  const printed = async (columns?: number) => {
    const io = createIo(columns === undefined ? {} : { columns })
    const chunks: string[] = []
    io.stdout.on('data', (chunk) => chunks.push(String(chunk)))
    async function* file() {
      yield `id\r\n"${HOSTILE}"\r\n`
    }
    await printFile(file(), io.stdout)
    return chunks.join('')
  }
  assert.equal(await printed(), `id\r\n"${HOSTILE}"\r\n`)
  const escaped = 'a\\u009b2J\\u202eb\\rc\\u007f\\u2028'
  assert.equal(await printed(80), `id\r\n"${escaped}"\r\n`)
})
