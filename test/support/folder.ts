import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A temporary folder, removed after the test. */
export function temporaryFolder(t: { after(remove: () => void): void }): string {
  const folder = mkdtempSync(join(tmpdir(), 'tillkit-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
