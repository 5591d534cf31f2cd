// `npm start`: serves the demo in this process, and stops when npm's shell ends. npm sends SIGTERM
// only to that shell. dash does not forward it, so the server would keep running and hold the port.
import { fileURLToPath } from 'node:url'

const shell = process.ppid
const watch = setInterval(() => {
  if (process.ppid === shell) return
  clearInterval(watch) // a second signal would interrupt requests in flight
  process.kill(process.pid, 'SIGTERM')
}, 200).unref()

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
process.argv = [process.execPath, main, 'serve', '--demo', '--console', ...process.argv.slice(2)]
await import('../dist/cli/main.js')
