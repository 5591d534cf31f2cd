import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** The code blocks of a page. */
export function blocksOf(page: string, language: string): string[] {
  const found = [...page.matchAll(/```(\w+)\n(.*?)```/gs)].filter(([, each]) => each === language)
  assert.ok(found.length > 0, `there is no ${language}`)
  return found.map(([, , code]) => code ?? '')
}

/** Runs a script in bash until it ends. Returns its output; throws if a command fails. */
export async function shell(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const child = spawn('bash', ['-euo', 'pipefail', '-c', script], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => (output += chunk))
  child.stderr.on('data', (chunk) => (output += chunk))
  const [code] = await once(child, 'close')
  assert.equal(code, 0, `${script}\n${output}`)
  return output
}

interface Program {
  /** Where the program is written and runs. */
  readonly folder: string
  /** Changes the code before it runs. */
  readonly adapt?: (code: string) => string
  /** Constants that the page leaves to the reader. */
  readonly constants?: { readonly [name: string]: string }
}

/**
 * Runs the JavaScript of a page as one program, against the built package. A line
 * `expression // → value` asserts the value. Returns what the program exports.
 */
export async function runPage(
  page: string,
  { folder, adapt = (code) => code, constants = {} }: Program,
) {
  const built = (path: string) => `'${pathToFileURL(join(process.cwd(), 'dist', path)).href}'`
  const code = adapt(blocksOf(page, 'js').join('\n'))
    .replaceAll("'tillkit'", built('lib/index.js'))
    .replaceAll("'tillkit/http'", built('http/index.js'))
    .replaceAll("'tillkit/client'", built('client/index.js'))
    .replaceAll("'tillkit/client/manage'", built('client/manage.js'))
    .replace(/^( *)(.+?) \/\/ → (.+)$/gm, '$1assert.deepEqual($2, $3); asserted.count++')
  const values = Object.entries(constants).map(([k, v]) => `const ${k} = ${JSON.stringify(v)}\n`)
  const start = "import assert from 'node:assert/strict'\nexport const asserted = { count: 0 }\n"
  const file = join(folder, 'page.mjs')
  writeFileSync(file, start + values.join('') + code)
  const project = process.cwd()
  process.chdir(folder)
  try {
    const exported = await import(pathToFileURL(file).href)
    assert.equal(exported.asserted.count, page.match(/ \/\/ → /g)?.length)
    return exported
  } finally {
    process.chdir(project)
  }
}
