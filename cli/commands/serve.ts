import { command } from '../command.ts'
import { serveOptions } from '../serve/options.ts'

export const serve = command({
  name: 'serve',
  summary: 'Serve the API over HTTP until SIGTERM or SIGINT',
  example: 'tillkit serve --port 8080 --workers 2 --lockdown',
  storesSecrets: true,
  makesDatabase: true,
  upgradesDatabase: true,
  hasRowQuotas: true,
  logsWarnings: true,
  options: serveOptions,
  async run(invocation) {
    const { runServer } = await import('../serve/server.ts') // the other commands start without node:http
    await runServer(invocation)
  },
})
