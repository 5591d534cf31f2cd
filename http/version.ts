import { readFileSync } from 'node:fs'

let version: string | undefined

/** The version of tillkit. */
export function readVersion(): string {
  version ??= versionInManifest() ?? 'unknown'
  return version
}

/**
 * Reads package.json, one directory above the source and two above the built file. Returns undefined
 * in a bundle, which has neither.
 */
function versionInManifest(): string | undefined {
  try {
    const { url } = import.meta
    const depth = url.endsWith('.ts') ? '..' : '../..'
    const text = readFileSync(new URL(`${depth}/package.json`, url), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    return undefined
  }
}
