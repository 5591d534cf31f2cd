import { UsageError } from './command.ts'

/** The master key and those before it, newest first. What is wrong with one never quotes it. */
export function parseMasterKeys(newest: string | undefined, previous: string | undefined) {
  if (newest === undefined && previous !== undefined) {
    throw new UsageError('TILLKIT_MASTER_KEY_PREVIOUS is set, and TILLKIT_MASTER_KEY is not')
  }
  const older = previous?.split(',').map((text) => parseKey('TILLKIT_MASTER_KEY_PREVIOUS', text))
  return newest === undefined ? [] : [parseKey('TILLKIT_MASTER_KEY', newest), ...(older ?? [])]
}

const HEX = /^[\da-f]{64}$/i
const BASE64 = /^[\w+/-]{43}=?$/

function parseKey(variable: string, text: string): Uint8Array {
  const written = text.trim()
  if (HEX.test(written)) return Buffer.from(written, 'hex')
  // Node takes both alphabets.
  if (BASE64.test(written)) return Buffer.from(written, 'base64')
  throw new UsageError(
    `${variable} must be 32 bytes, as 64 hex digits or in base64: openssl rand -hex 32`,
  )
}
