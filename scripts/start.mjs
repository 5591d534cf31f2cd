// `npm start`: serves the demonstration, in this process, until the shell that npm runs it in ends.
// npm hands a SIGTERM to that shell alone, and where it is dash, which stays between the two and
// hands nothing on, the server would outlive both and hold the port.
import { fileURLToPath } from 'node:url'

const shell = process.ppid
const watch = setInterval(() => {
  if (process.ppid === shell) return
  clearInterval(watch) // a second signal would cut off the requests under way
  process.kill(process.pid, 'SIGTERM')
}, 200).unref()

const main = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url))
process.argv = [process.execPath, main, 'serve', '--demo', ...process.argv.slice(2)]
await import('../dist/cli/main.js')
