// Runs a PostgreSQL for scripts/test.mjs and prints its URL. Ends when standard input ends, so that
// no server is left when the script is killed.
import { startCluster } from './cluster.ts'

const cluster = await startCluster()
process.stdout.write(`${cluster.url}\n`)
process.stdin.resume().once('end', async () => {
  await cluster.stop()
  process.exit()
})
