// Prints a sign for each top-level test and the slowest files, then each failed test with its file,
// title and error. Failures come last because CI systems show the end of the output.
import { readFileSync, writeFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { relative } from 'node:path'
import { inspect } from 'node:util'
import { LOADED } from './test-group.mjs'

const SLOWEST = 15

export default async function* report(events) {
  const started = performance.now()
  const failures = []
  const skips = new Map() // count by reason
  const seconds = new Map() // by file
  const titles = [] // of the current test and the suites around it
  let passed = 0
  let signs = 0
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message
    if (type === 'test:start') titles[data.nesting] = data.name
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const { nesting, name, skip, details } = data
    if (type === 'test:pass' && name === LOADED && nesting === 0) continue
    // Tells scripts/test.mjs of a process that ended early.
    if (type === 'test:fail' && name === data.file) writeFileSync(`${name}.crashed`, '')
    const file = sourceOf(data.file ?? name)
    if (nesting === 0) {
      yield type === 'test:pass' ? '.' : 'F'
      if (++signs % 100 === 0) yield '\n'
      seconds.set(file, (seconds.get(file) ?? 0) + details.duration_ms / 1000)
    }
    if (skip !== undefined) skips.set(skip, (skips.get(skip) ?? 0) + 1)
    else if (type === 'test:pass') passed += details.type === 'suite' ? 0 : 1
    else if (details.error.failureType !== 'subtestsFailed') {
      const title = [...titles.slice(0, nesting), name].join(' > ')
      const place = inSource(`${data.file ?? name}:${data.line}:${data.column}`)
      failures.push(`${place}\n  ${title}\n${inSource(errorText(details.error))}`)
    }
  }
  yield '\n'
  const slowest = [...seconds].sort((a, b) => b[1] - a[1]).slice(0, SLOWEST)
  for (const [file, taken] of slowest) yield `${taken.toFixed(1).padStart(6)} s  ${file}\n`
  const skipped = [...skips.values()].reduce((sum, count) => sum + count, 0)
  const total = ((performance.now() - started) / 1000).toFixed(0)
  yield `# pass ${passed}\n# fail ${failures.length}\n# skipped ${skipped}\n# seconds ${total}\n`
  for (const [reason, count] of skips) yield `  ${count} skipped: ${reason}\n`
  for (const failure of failures) yield `\nnot ok ${failure}\n`
}

/** The source of a compiled file. */
function sourceOf(file) {
  const compiled = process.env.TILLKIT_TEST_COMPILED ?? ''
  if (!file.startsWith(compiled)) return relative('', file)
  return relative(compiled, file).replace(/\.js$/, '.ts')
}

/**
 * Replaces places in compiled files by those in their sources. `--enable-source-maps` would do it
 * too, but takes 5 % of the CPU time of a run.
 */
function inSource(text) {
  return text.replaceAll(
    /(?:file:\/\/)?([^\s():]+\.js):(\d+):(\d+)/g,
    (place, file, line, column) => {
      const source = sourceOf(file)
      if (!source.endsWith('.ts')) return place
      const [, map] = readFileSync(file, 'utf8').split(
        'sourceMappingURL=data:application/json;base64,',
      )
      if (map === undefined) return place
      const found = new SourceMap(JSON.parse(Buffer.from(map, 'base64').toString()))
      const { originalLine = 0, originalColumn = 0 } = found.findEntry(line - 1, column - 1)
      return `${source}:${originalLine + 1}:${originalColumn + 1}`
    },
  )
}

/** Removes the runner's own error around the cause. Truncated, because a value may be megabytes. */
function errorText(error) {
  const text = inspect(error.cause ?? error, { depth: 4, maxStringLength: 2_000 })
  return text.slice(0, 6_000).replaceAll(/^/gm, '    ')
}
