// Loads node:test without its async hook, which costs a sixth of the CPU time of the tests in a
// process: it follows every promise, to tell which test raised an uncaught error. Without it, an
// uncaught error ends the process, and scripts/test.mjs runs its files again, alone and with the
// hook. The hook also tells which suite a test belongs to. For that it is enough to follow the
// suites, because none of them registers tests after an await.
import hooks from 'node:async_hooks'
import { inspect } from 'node:util'

const { AsyncResource, createHook } = hooks
let follow = () => {}
hooks.createHook = ({ init }) => {
  follow = init
  return { enable: () => {}, disable: () => {} }
}
hooks.AsyncResource = class extends AsyncResource {
  constructor(type, options) {
    super(type, options)
    follow(this.asyncId(), type, this.triggerAsyncId(), this)
  }
}
await import('node:test')
Object.assign(hooks, { AsyncResource, createHook })

for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.prependListener(event, (error) => {
    process.stderr.write(`${event}: ${inspect(error)}\n`)
    process.exit(1)
  })
}
