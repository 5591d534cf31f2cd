#!/usr/bin/env node
import module from 'node:module'
import { join } from 'node:path'

// All other modules load later, because an older Node may not even parse them.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(`tillkit needs Node 20.19 or later, and this is ${process.version}`)
  process.exit(1)
}

// From Node 22.1 on, keeps the compiled code for the next start, which then takes a quarter less.
// Node's default directory is below the one for temporary files, to which others may write.
const { HOME } = process.env
if (HOME) module.enableCompileCache?.(join(HOME, '.cache', 'tillkit'))
start()

async function start(): Promise<void> {
  const { DONE, FAILED } = await import('./failure.ts')
  const { run } = await import('./run.ts')

  // Ends without an error if the process that reads stdout stops early, as `head` does.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(DONE)
    process.stderr.write(`tillkit: ${error.message}\n`)
    process.exit(FAILED)
  })

  // Ignores errors of stderr: a server keeps running when nobody reads its log.
  process.stderr.on('error', () => {})

  // Hides Node's warning that node:sqlite is experimental: users can do nothing about it.
  const printers = process.listeners('warning')
  process.removeAllListeners('warning').on('warning', (warning) => {
    if (warning.name === 'ExperimentalWarning') return
    for (const print of printers) print(warning)
  })

  process.exitCode = await run(process.argv.slice(2), process, process.env)
  if (process.connected) process.disconnect() // a channel to the parent would keep a worker alive
}
