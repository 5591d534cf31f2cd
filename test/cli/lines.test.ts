import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import type { WriteStream } from 'node:tty'
import { wrapLines } from '../../cli/output.ts'

const terminal = (columns: number) => ({ isTTY: true, columns }) as WriteStream
const TEXT = `tillkit: The purchase file has mistakes
  line 12, purchased_at must be a time with a zone
  line 13: /a/path/that/is/longer/than/any/line`

test('a long reason wraps at words on a terminal, each line under its own', () => {
  assert.deepEqual(wrapLines(TEXT, terminal(30)).split('\n'), [
    'tillkit: The purchase file',
    '    has mistakes',
    '  line 12, purchased_at must',
    '      be a time with a zone',
    '  line 13:',
    '      /a/path/that/is/longer/than/any/line',
  ])
  assert.equal(wrapLines(TEXT, terminal(60)), TEXT)
})

test('a reason is whole where nobody sees it', () => {
  assert.equal(wrapLines(TEXT, {} as WriteStream), TEXT)
})

test('a refusal fits a real terminal', (t) => {
  if (process.platform !== 'linux') return t.skip('the other ones run script(1) otherwise')
  const list = 'stty cols 50; node dist/cli/main.js account list --db mysql://db/till'
  const shown = execFileSync('script', ['-qc', list, '/dev/null'], { encoding: 'utf8' })
  assert.deepEqual(shown.split('\r\n'), [
    'tillkit: mysql://… is no database: take a file,',
    '    postgres://… or memory:',
    'See tillkit account list --help',
    '',
  ])
})
