// Runs in the thread that `threaded-reader.ts` starts. Parses the chunks of a purchase file. Answers
// each of them with one message.
import { createHash } from 'node:crypto'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { type Batch, createBatchParser } from '../csv/batches.ts'
import type { LayoutOptions } from '../csv/layout.ts'
import { packRows } from '../csv/packed-rows.ts'
import type { PurchaseRules } from '../domain/purchase.ts'
import type { FromThread, ToThread } from './threaded-reader.ts'

const { rules, options } = workerData as { rules: PurchaseRules; options: LayoutOptions }
const port = parentPort as MessagePort
const parser = createBatchParser(rules, options)
const hash = createHash('sha256')

function post({ rows, ...notes }: Batch, sha256 = ''): void {
  const packed = packRows(rows)
  const message: FromThread = { ...notes, packed, sha256 }
  port.postMessage(message, [packed.text.buffer, packed.numbers.buffer])
}

port.on('message', (chunk: ToThread) => {
  if (chunk === 'end') return post(parser.end(), hash.digest('hex'))
  hash.update(chunk)
  post(parser.push(chunk))
})

port.postMessage('ready')
