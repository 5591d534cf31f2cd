import type { JsonObject } from '../domain/fields.ts'
import { TillError } from '../errors.ts'

/** The bytes of a configuration as JSON in UTF-8, as the quota counts them. */
export function bytesOf(config: JsonObject): number {
  return Buffer.byteLength(JSON.stringify(config))
}

/** Whether a configuration needs more bytes than the one it replaces. */
export function grows(before: JsonObject, after: JsonObject): boolean {
  return bytesOf(after) > bytesOf(before)
}

/** The usage of an account after a change. Contains only the counts to compare with a quota. */
export interface Usage {
  readonly projects?: number
  readonly stores?: number
  readonly config_bytes?: number
}

const MESSAGES: Record<keyof Usage, (limit: string) => string> = {
  projects: (limit) => `An account may have at most ${limit} projects`,
  stores: (limit) => `A project may have at most ${limit} stores`,
  config_bytes: (limit) =>
    `The config and store_config of an account may have at most ${limit} bytes together`,
}

/** Throws `quota_exceeded` for the first count above its quota. */
export function assertWithin(usage: Usage, quota: Usage): void {
  for (const [name, message] of Object.entries(MESSAGES)) {
    const used = usage[name as keyof Usage]
    const limit = quota[name as keyof Usage]
    if (used === undefined || limit === undefined || used <= limit) continue
    throw new TillError('quota_exceeded', message(limit.toLocaleString('en-US')))
  }
}
