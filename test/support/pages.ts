import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { TestContext } from 'node:test'
import { pathToFileURL } from 'node:url'
import { temporaryFolder } from './folder.ts'

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

/** The reason to skip a test of a program that is not installed. */
export function missing(program: string): string | false {
  const { error } = spawnSync(program, ['-c', 'exit'])
  return error ? `${program} is not installed` : false
}

/** A folder where `npx tillkit` and `import … from 'tillkit'` work, as in a built clone. */
export function builtClone(t: Pick<TestContext, 'after'>): string {
  const clone = temporaryFolder(t)
  cpSync('dist', join(clone, 'dist'), { recursive: true })
  cpSync('package.json', join(clone, 'package.json'))
  symlinkSync(resolve('node_modules'), join(clone, 'node_modules'))
  return clone
}

/** Interactive shells, which take pasted lines otherwise than scripts: zsh refuses `#` and `?`. */
export const SHELLS = {
  bash: ['--norc', '-i', '-e'],
  dash: ['-i', '-e'],
  zsh: ['-f', '-i', '-e'],
}

/**
 * Opens a shell for lines that are pasted one script after the other. A later one sees the variables
 * of an earlier one. The result resolves to the standard output of its script.
 */
export function openShell(t: Pick<TestContext, 'after'>, name: keyof typeof SHELLS, cwd: string) {
  const child = spawn(name, SHELLS[name], { cwd, detached: true })
  t.after(() => child.kill('SIGKILL'))
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  const closed = once(child, 'close').then(() => true)
  return async (script: string): Promise<string> => {
    Object.assign(output, { stdout: '', stderr: '' })
    // npx takes a second.
    const faster = script.replaceAll('npx tillkit ', `node '${resolve('dist/cli/main.js')}' `)
    child.stdin.write(`${faster}\necho ${END}\n`)
    while (!output.stdout.includes(`${END}\n`)) {
      const hasEnded = await Promise.race([once(child.stdout, 'data').then(() => false), closed])
      assert.ok(!hasEnded, `${name}: ${script}\n${output.stdout}${output.stderr}`)
    }
    assert.doesNotMatch(output.stderr, /not found|no matches|parse error|syntax error/i, name)
    return output.stdout.replace(`${END}\n`, '')
  }
}

const END = 'tillkit-end-of-script'

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
    assert.equal(exported.asserted.count, page.match(/ \/\/ → /g)?.length ?? 0)
    return exported
  } finally {
    process.chdir(project)
  }
}
