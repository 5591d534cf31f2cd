import { isZone } from '../times.ts'

/** Zones as vendors write them in a column, by their IANA names. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['eastern time (us & canada)', 'America/New_York'],
  ['central time (us & canada)', 'America/Chicago'],
  ['mountain time (us & canada)', 'America/Denver'],
  ['pacific time (us & canada)', 'America/Los_Angeles'],
  ['london', 'Europe/London'],
  ['berlin', 'Europe/Berlin'],
  ['paris', 'Europe/Paris'],
  ['tokyo', 'Asia/Tokyo'],
  ['sydney', 'Australia/Sydney'],
])

/** Abbreviations and offsets that an import reads at the end of a time. */
const AT_END = /^(UTC|GMT|Z|WES?T|BST|CES?T|EES?T|[PMCE][SD]T|(?:UTC|GMT)?[+-]\d\d(:?\d\d)?)$/i

/** Whether a cell names a time zone. */
export function isZoneName(cell: string): boolean {
  if (AT_END.test(cell) || NAMES.has(cell.toLowerCase())) return true
  return cell.length <= 64 && /^[A-Z][A-Za-z]+\/[A-Z]/.test(cell) && isZone(cell)
}

/** Whether cells with these zones can be joined to a time. */
export function canJoin(words: readonly string[]): boolean {
  return words.every((word) => AT_END.test(word) && !/^(UTC|GMT)[+-]/i.test(word))
}

/** The IANA name of the zone of a cell; undefined for an abbreviation or offset. */
export function ianaOf(cell: string): string | undefined {
  if (/^(UTC|GMT|Z)$/i.test(cell)) return 'UTC'
  return NAMES.get(cell.toLowerCase()) ?? (cell.includes('/') && isZone(cell) ? cell : undefined)
}
