import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

test('the client is one file without imports, of at most 6 KiB gzipped', () => {
  const file = readFileSync('dist/client/index.js')
  const scripts = readdirSync('dist/client').filter((name) => name.endsWith('.js'))

  assert.deepEqual(scripts.sort(), ['index.js', 'manage.js'])
  assert.doesNotMatch(file.toString(), /\bfrom\s*["']|\bimport\s*[{*]|\brequire\(|["']node:/)
  const size = gzipSync(file, { level: 9 }).length
  assert.ok(size <= 6 * 1024, `${size} bytes`)
})
