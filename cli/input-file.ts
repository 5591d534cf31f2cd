import { accessSync, constants, createReadStream, statSync } from 'node:fs'
import type { Readable } from 'node:stream'
import { UsageError } from './command-errors.ts'
import type { Io } from './io.ts'
import { describeSystemError } from './system-errors.ts'

/** Opens the file of an operand, or standard input for `-`. The size of standard input is 0. */
export function openInput(operand: string, io: Io): { stream: Readable; size: number } {
  if (operand === '-') return { stream: io.stdin, size: 0 }
  try {
    accessSync(operand, constants.R_OK)
    const stat = statSync(operand)
    if (stat.isDirectory()) throw new Error(`${operand} is a directory`)
    const stream = createReadStream(operand)
    // Keeps an early stream error from ending the process: the command reports it when it reads.
    stream.on('error', () => {})
    return { stream, size: stat.size }
  } catch (error) {
    throw new UsageError(describeSystemError(error))
  }
}
