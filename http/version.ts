import { readFileSync } from 'node:fs'

let version: string | undefined

/** The version of tillkit. The build replaces this function by one that returns a constant. */
export function readVersion(): string {
  // `package.json` is one directory above the source, and two above the compiled file of a test.
  const depth = import.meta.url.endsWith('.ts') ? '..' : '../..'
  version ??= versionIn(new URL(`${depth}/package.json`, import.meta.url))
  return version
}

function versionIn(manifest: URL): string {
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
