import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { tmpdir } from 'node:os'
import { createInterface } from 'node:readline'
import { PassThrough, Readable } from 'node:stream'
import type { TestContext } from 'node:test'
import type { OutputStream, StopSignal } from '../../cli/io.ts'
import { run } from '../../cli/run.ts'

export interface Finished {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const MAIN = 'dist/cli/main.js'

interface Options {
  readonly input?: string | AsyncIterable<Buffer>
  readonly env?: NodeJS.ProcessEnv
  /** The width of the terminal; without it, no stream is a terminal. */
  readonly columns?: number
}

/** Standard streams and signals for `run`. `emit` sends a signal. */
export function createIo({ input = '', columns }: Options = {}) {
  const terminal = columns === undefined ? {} : { isTTY: true, columns }
  const typed = Readable.from(typeof input === 'string' ? [Buffer.from(input)] : input)
  const stdin: Readable = Object.assign(typed, terminal)
  const stdout: OutputStream = Object.assign(new PassThrough(), terminal)
  const stderr: OutputStream = Object.assign(new PassThrough(), terminal)
  return Object.assign(new EventEmitter(), { stdin, stdout, stderr })
}

/** Runs the CLI in this process until it ends, or until `stop` sends it a signal. */
export function startTillkit(args: readonly string[], options: Options = {}) {
  const io = createIo(options)
  const output = { stdout: '', stderr: '' }
  let isStopped = false
  for (const name of ['stdout', 'stderr'] as const) {
    io[name].on('data', (chunk) => (output[name] += chunk))
  }
  const finished = run(args, io, options.env ?? {}).then(async (code): Promise<Finished> => {
    await new Promise((resolve) => setImmediate(resolve)) // the last lines of the log
    await Promise.all([io.stdout, io.stderr].map((each) => once(each.end(), 'end')))
    return { code, ...output }
  })
  const stop = (signal: StopSignal) => {
    if (!isStopped) io.emit(signal, signal) // a second signal would end this process
    isStopped = true
  }
  return { io, finished, stop }
}

/** Runs the CLI in this process until it ends. */
export function tillkit(args: readonly string[], options: Options = {}): Promise<Finished> {
  return startTillkit(args, options).finished
}

/** Starts the built CLI. `uid` runs it as another user, which needs root. */
export function start(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  uid?: number,
): ChildProcessWithoutNullStreams {
  const { PATH, HOME, TMPDIR } = process.env
  const env = { PATH, HOME, TMPDIR, ...environment }
  return spawn(process.execPath, [MAIN, ...args], { env, ...(uid === undefined ? {} : { uid }) })
}

/** Runs the built CLI in its own process until it ends. */
export async function tillkitProcess(
  args: readonly string[],
  { env = {}, uid }: { readonly env?: NodeJS.ProcessEnv; readonly uid?: number | undefined } = {},
): Promise<Finished> {
  const child = start(args, env, uid)
  const output = { stdout: '', stderr: '' }
  child.stdout.on('data', (chunk) => (output.stdout += chunk))
  child.stderr.on('data', (chunk) => (output.stderr += chunk))
  child.stdin.end()
  const [code] = await once(child, 'close')
  return { code, ...output }
}

/** Whether another user can run the CLI here: Node or the temporary files may be private. */
export function mayRun(uid: number): boolean {
  const script = 'cd "$0" && cd "$OLDPWD" && "$@"'
  const words = ['-c', script, tmpdir(), process.execPath, MAIN, '--version']
  return spawnSync('sh', words, { uid }).status === 0
}

/** Returns the JSON document that a command prints. Throws when the command fails. */
export async function tillkitJson(args: readonly string[]) {
  const { code, stdout, stderr } = await tillkit([...args, '--json'])
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stdout}${stderr}`)
  return JSON.parse(stdout)
}

/** Starts `serve` in this process, and stops it after the test. */
export async function serveHere(
  t: TestContext,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
) {
  const { io, finished, stop } = startTillkit(['serve', ...args], { env })
  const closed = finished.then(({ code }) => code)
  t.after(() => {
    stop('SIGTERM')
    return closed
  })
  return { ...(await readServer(io, closed)), closed, stop }
}

/** Starts `serve` in this process, stops it, and returns the entries of its log. */
export async function logOfServe(...start: Parameters<typeof serveHere>) {
  const { log, stop, closed } = await serveHere(...start)
  stop('SIGTERM')
  await closed
  return log.map((line) => JSON.parse(line))
}

/** Starts `serve` in its own process, and kills it after the test. */
export async function serveProcess(
  t: TestContext,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
) {
  const child = start(['serve', ...args], env)
  t.after(() => child.kill('SIGKILL'))
  const closed = once(child, 'close').then(([code]) => code as number | null)
  return { ...(await readServer(child, closed)), child, closed }
}

/** The URL of a started server, and its output so far. */
async function readServer(
  { stdout, stderr }: { readonly stdout: object; readonly stderr: object },
  closed: Promise<number | null>,
) {
  const lines: string[] = []
  const log: string[] = []
  createInterface({ input: stderr as Readable }).on('line', (line) => log.push(line))
  // Listens before the first line, because several lines may come at once.
  const output = createInterface({ input: stdout as Readable })
  output.on('line', (line) => lines.push(line))
  await Promise.race([once(output, 'line'), closed])
  const first = lines.shift()
  if (first === undefined) throw new Error(`serve ended with ${await closed}: ${log.join('\n')}`)
  const url = /http:\/\/\S+/.exec(first)?.[0] ?? ''
  return { url, first, lines, log }
}
