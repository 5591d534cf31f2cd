#!/usr/bin/env node
import { DONE, FAILED } from './failure.ts'
import { run } from './run.ts'
import { isWorker } from './worker-pool.ts'

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

run(process.argv.slice(2), process, process.env).then((code) => {
  process.exitCode = code
  if (isWorker) process.disconnect() // an open channel to the parent would keep the worker alive
})
