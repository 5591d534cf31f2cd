// Runs a PostgreSQL for scripts/test.mjs: prints its URL, and ends when standard input does, so
// that none is left when the script is killed.
import { startCluster } from './cluster.ts'

const cluster = await startCluster()
process.stdout.write(`${cluster.url}\n`)
process.stdin.resume().once('end', async () => {
  await cluster.stop()
  process.exit()
})
