const ISO_8601 =
  /^(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?(Z|[+-]\d\d(?::?\d\d)?)$/

/**
 * Unix milliseconds from ISO 8601 with a zone, 10 digits of Unix seconds or 13 of milliseconds; else
 * undefined. A time without a zone is refused: guessing one moves a purchase by up to a day. Digits
 * past the millisecond are cut.
 */
export function parseInstant(text: string): number | undefined {
  if (/^\d{10}$/.test(text)) return Number(text) * 1000
  if (/^\d{13}$/.test(text)) return Number(text)
  const parts = ISO_8601.exec(text)
  if (!parts) return undefined
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts
    .slice(1, 7)
    .map((part) => Number(part ?? 0))
  const milliseconds = Number((parts[7] ?? '').padEnd(3, '0').slice(0, 3))
  const local = Date.UTC(year, month - 1, day, hour, minute, second, milliseconds)
  const offset = parseOffset(parts[8] ?? '')
  if (offset === undefined || hour > 23 || minute > 59 || second > 59) return undefined
  // Date.UTC rolls 30 February over into March and takes the year 24 for 1924: all must survive.
  const date = new Date(local)
  if (date.getUTCFullYear() !== year) return undefined
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined
  return local - offset
}

/** A zone's offset from UTC in milliseconds. */
function parseOffset(zone: string): number | undefined {
  if (zone === 'Z') return 0
  const hours = Number(zone.slice(1, 3))
  const minutes = Number(zone.slice(-2)) * (zone.length > 3 ? 1 : 0)
  if (hours > 23 || minutes > 59) return undefined
  return (zone[0] === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

/** A Unix time in milliseconds as ISO 8601 in UTC. */
export function formatInstant(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}
