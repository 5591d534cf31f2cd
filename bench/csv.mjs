// Parses a file in memory in chunks of 64 KiB, each row into an array of strings.
import { readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parse as csvParse } from 'csv-parse'
import Papa from 'papaparse'
import { inferSchema, initParser } from 'udsv'
import { createCsvParser } from '../dist/lib/csv/parser.js'
import { writePurchases } from './files.mjs'
import { count, median, printTable, ratio } from './table.mjs'

const ROWS = 300_000
const ROUNDS = 5
const CHUNK = 64 * 1024

const rivals = {
  tillkit(bytes) {
    let rows = 0
    const fail = (error) => {
      throw new Error(error.message)
    }
    const parser = createCsvParser({ header() {}, row: () => void rows++, error: fail })
    for (const chunk of chunksOf(bytes)) parser.push(chunk)
    parser.end()
    return rows
  },
  // Gets the whole text at once, which is the fastest way to use it.
  udsv(bytes) {
    const text = bytes.toString()
    return initParser(inferSchema(text)).stringArrs(text).length
  },
  papaparse(bytes) {
    return Papa.parse(bytes.toString(), { skipEmptyLines: true }).data.length - 1
  },
  async 'csv-parse'(bytes) {
    let rows = -1
    const parser = csvParse()
    parser.on('data', () => void rows++)
    for (const chunk of chunksOf(bytes)) parser.write(chunk)
    parser.end()
    await new Promise((resolve, reject) => parser.on('end', resolve).on('error', reject))
    return rows
  },
}

function* chunksOf(bytes) {
  for (let at = 0; at < bytes.length; at += CHUNK) yield bytes.subarray(at, at + CHUNK)
}

export async function bench() {
  const path = join(tmpdir(), `tillkit-bench-${process.pid}.csv`)
  writePurchases(path, ROWS)
  const bytes = readFileSync(path)
  rmSync(path)
  const times = Object.fromEntries(Object.keys(rivals).map((name) => [name, []]))
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, parse] of Object.entries(rivals)) {
      const started = performance.now()
      const rows = await parse(bytes)
      if (rows !== ROWS) throw new Error(`${name} found ${rows} rows`)
      if (round > 0) times[name].push(performance.now() - started) // the first is a warm-up
    }
  }
  const ours = median(times.tillkit)
  printTable(
    `CSV: ${count(ROWS)} rows, medians of ${ROUNDS} interleaved rounds`,
    ['', 'rows/s', 'tillkit is faster by'],
    Object.entries(times).map(([name, all]) => [
      name,
      count((ROWS / median(all)) * 1000),
      ratio(median(all) / ours),
    ]),
  )
}
