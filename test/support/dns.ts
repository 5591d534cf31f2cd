import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { isIPv4 } from 'node:net'
import type { TestContext } from 'node:test'

export interface DnsServer {
  /** Its address, for `setServers`. */
  readonly address: string
  /** The names that were asked for an IPv4 address so far. */
  readonly asked: string[]
}

const HEADER_BYTES = 12
const TYPE_A = 1

/**
 * A name server on loopback. `answer` gets a name and the number of the question, from 0, and
 * returns its IPv4 addresses. Names have no other records.
 */
export async function startDns(
  t: TestContext,
  answer: (name: string, question: number) => readonly string[],
): Promise<DnsServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, end } = readName(query)
    const isA = query.readUInt16BE(end) === TYPE_A
    const found = isA ? answer(name, asked.push(name) - 1).filter((each) => isIPv4(each)) : []
    const header = Buffer.from(query.subarray(0, HEADER_BYTES))
    header.writeUInt16BE(0x8180, 2) // an answer without error
    header.writeUInt16BE(found.length, 6)
    header.writeUInt32BE(0, 8) // no further sections
    const question = query.subarray(HEADER_BYTES, end + 4)
    socket.send(Buffer.concat([header, question, ...found.map(recordOf)]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  return { address: `127.0.0.1:${socket.address().port}`, asked }
}

/** Reads the name of the question, and where its type begins. */
function readName(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let at = HEADER_BYTES
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.'), end: at + 1 }
}

/** An A record with a lifetime of 0 for the name in the question. */
function recordOf(address: string): Buffer {
  const start = [0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4]
  return Buffer.from([...start, ...address.split('.').map(Number)])
}
