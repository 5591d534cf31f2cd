import { serve as listen } from '../../http/index.ts'
import { command, UsageError } from '../command.ts'
import { createDemo, formatDemo } from '../demo.ts'

export const serve = command({
  name: 'serve',
  summary: 'Serve the API over HTTP until SIGTERM or SIGINT',
  options: {
    host: { value: 'ADDRESS', help: 'the address to listen on (default 127.0.0.1)' },
    port: { value: 'N', help: 'the port, 0 for any free one (default 3000)' },
    demo: { help: 'in an empty database, make a demo account and print its keys' },
  },
  async run({ till, options, config, output }) {
    const demo = options.demo ? await createDemo(till) : undefined
    const server = await listen(till, {
      host: options.host ?? config.host,
      port: portOf(options.port ?? config.port),
      log: (entry) => void process.stderr.write(`${JSON.stringify(entry)}\n`),
    })
    const { url } = server
    if (output.json) output.record({ url, ...(demo ? { demo } : {}) })
    output.line(`tillkit listens on ${url}`)
    if (demo) output.line(formatDemo(demo, url))
    else if (options.demo) output.line('The database has accounts already: no demo was made')
    await stopSignal()
    await server.stop()
  },
})

function portOf(text: string): number {
  if (/^\d{1,5}$/.test(text) && Number(text) <= 65_535) return Number(text)
  throw new UsageError('The port must be a number from 0 to 65535')
}

/** Resolves at the first signal; a second one ends the process as usual. */
function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve())
    process.once('SIGINT', () => resolve())
  })
}
