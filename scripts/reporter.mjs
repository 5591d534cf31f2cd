// Prints a sign for each top-level test and the slowest files, then each failed test with its file,
// title and error. Failures come last because CI systems show the end of the output.
import { existsSync, readFileSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { dirname, relative, resolve } from 'node:path'
import { inspect } from 'node:util'

const SLOWEST = 15

/** Yields the report on tests that `compile` has written into the folder `compiled`. */
export async function* report(events, compiled) {
  const inSource = createTranslator(compiled)
  const started = performance.now()
  const failures = []
  const skips = new Map() // count by reason
  const seconds = new Map() // by file
  const reasons = new Map() // of files that failed by test/support/whole.ts
  const titles = [] // of the current test and the suites around it
  let passed = 0
  let signs = 0
  for await (const { type, data } of events) {
    if (type === 'test:stdout' || type === 'test:stderr') yield data.message
    if (type === 'test:stderr' && data.message.startsWith('This file'))
      reasons.set(data.file, data.message.trim())
    if (type === 'test:start') titles[data.nesting] = data.name
    if (type !== 'test:pass' && type !== 'test:fail') continue
    const { nesting, name, skip, details } = data
    const isFile = name === data.file // its process crashed, or ended in another way
    const place = isFile
      ? sourceOf(compiled, name)
      : inSource(`${data.file}:${data.line}:${data.column}`)
    const [file] = place.split(':')
    if (nesting === 0) {
      yield type === 'test:pass' ? '.' : 'F'
      if (++signs % 100 === 0) yield '\n'
      seconds.set(file, (seconds.get(file) ?? 0) + details.duration_ms / 1000)
    }
    if (skip !== undefined) skips.set(skip, (skips.get(skip) ?? 0) + 1)
    else if (type === 'test:pass') passed += details.type === 'suite' ? 0 : 1
    else if (details.error.failureType !== 'subtestsFailed') {
      const title = isFile
        ? (reasons.get(name) ?? file)
        : [...titles.slice(0, nesting), name].join(' > ')
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

/** The source of a compiled test file. */
function sourceOf(compiled, file) {
  return relative(compiled, file).replace(/\.js$/, '.ts')
}

/**
 * Returns a function that replaces places in compiled files by those in their sources.
 * `--enable-source-maps` would do it too, but takes 5 % of the CPU time of a run.
 */
function createTranslator(compiled) {
  const maps = new Map()
  const mapOf = (file) => {
    if (!maps.has(file))
      maps.set(file, new SourceMap(JSON.parse(readFileSync(`${file}.map`, 'utf8'))))
    return maps.get(file)
  }
  const place = /(?:file:\/\/)?([^\s():]+\.js):(\d+):(\d+)/g
  return (text) =>
    text.replaceAll(place, (place, file, line, column) => {
      if (!file.startsWith(compiled) || !existsSync(`${file}.map`)) return place
      const found = mapOf(file).findEntry(line - 1, column - 1)
      if (found.originalSource === undefined) return place
      const source = relative('', resolve(dirname(file), found.originalSource))
      return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`
    })
}

/** Removes the runner's own error around the cause. Truncated, because a value may be megabytes. */
function errorText(error) {
  const text = inspect(error.cause ?? error, { depth: 4, maxStringLength: 2_000 })
  return text.slice(0, 6_000).replaceAll(/^/gm, '    ')
}
