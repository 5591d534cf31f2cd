import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import type { TestContext } from 'node:test'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const MAIN = 'dist/cli/main.js'

/** A process of the built CLI, of another user where one is given. */
export function start(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  uid?: number,
): ChildProcessWithoutNullStreams {
  const { PATH, HOME, TMPDIR } = process.env
  const env = { PATH, HOME, TMPDIR, ...environment }
  return spawn(process.execPath, [MAIN, ...args], { env, ...(uid === undefined ? {} : { uid }) })
}

interface Run {
  readonly input?: string
  readonly env?: NodeJS.ProcessEnv
  /** The user to run as; this one unless told. */
  readonly uid?: number | undefined
}

/** Runs the built CLI to its end; with `uid`, which root alone may give, as another user. */
export async function tillkit(
  args: readonly string[],
  { input = '', env = {}, uid }: Run = {},
): Promise<Finished> {
  const child = start(args, env, uid)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  child.stdin.on('error', () => {}).end(input)
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** Whether another user may run the CLI here: Node or the temporary files may be root's alone. */
export function mayRun(uid: number): boolean {
  const script = 'cd "$0" && cd "$OLDPWD" && "$@"'
  const words = ['-c', script, tmpdir(), process.execPath, MAIN, '--version']
  return spawnSync('sh', words, { uid }).status === 0
}

/** The JSON document that a command printed; fails when the command did. */
export async function tillkitJson(args: readonly string[]) {
  const { code, stdout, stderr } = await tillkit([...args, '--json'])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout)
}

/** A running `serve`: its URL, its output so far, and its end. Killed when the test is over. */
export async function serveProcess(
  t: TestContext,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
) {
  const child = start(['serve', ...args], env)
  t.after(() => child.kill('SIGKILL'))
  const lines: string[] = []
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line))
  // Listened to from the start: several lines may come at once.
  const output = createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  const closed = once(child, 'close').then(([code]) => code as number | null)
  await Promise.race([once(output, 'line'), closed])
  const first = lines.shift()
  if (first === undefined) throw new Error(`serve ended with ${await closed}: ${log.join('\n')}`)
  const url = /http:\/\/\S+/.exec(first)?.[0] ?? ''
  return { child, url, first, lines, log, closed }
}
