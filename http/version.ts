import { readFileSync } from 'node:fs'

let version: string | undefined

/**
 * Reads the version in package.json, one directory above the source and two above the built file.
 */
export function readVersion(): string {
  if (version !== undefined) return version
  const depth = import.meta.url.endsWith('.ts') ? '..' : '../..'
  const text = readFileSync(new URL(`${depth}/package.json`, import.meta.url), 'utf8')
  version = (JSON.parse(text) as { version: string }).version
  return version
}
