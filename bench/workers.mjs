// Item reads per second with one worker and with two workers.

import { cpus } from 'node:os'
import { join } from 'node:path'
import { measure, requireWrk, withServer } from './load.mjs'
import { inFolder, seed, serveHelp, startTillkit } from './servers.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const ROUNDS = 3

export async function bench() {
  requireWrk()
  if (!serveHelp.includes('--workers')) {
    console.error('workers: serve has no --workers yet')
    process.exitCode = 1
    return
  }
  await inFolder(async (folder) => {
    const seeded = join(folder, 'seeded.db')
    const { items, token } = await seed(seeded)
    const requests = items.map((id) => ({
      path: `/api/v1/items/${id}`,
      headers: { authorization: `Bearer ${token}` },
    }))
    const rates = { 1: [], 2: [] }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [workers, all] of Object.entries(rates)) {
        const start = (db) => startTillkit(db, '--workers', workers)
        const work = (server) => measure(folder, server, requests)
        all.push((await withServer(folder, seeded, start, work)).rate)
      }
    }
    printTable(
      `Item reads, medians of ${ROUNDS} interleaved rounds; wrk shares the ${cpus().length} cores`,
      ['workers', 'requests/s', 'of one'],
      Object.entries(rates).map(([workers, all]) => [
        workers,
        count(median(all)),
        ratio(median(all) / median(rates[1])),
      ]),
    )
  })
}
