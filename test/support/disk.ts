import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A disk of so many MiB; undefined, with the reason told, where none can be had. */
export function smallDisk(t: TestContext, mib = 2): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'tillkit-disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mib}m`, 'tmpfs', disk], { stdio: 'ignore' })
  } catch {
    rmdirSync(disk)
    t.skip('only root may mount a small disk')
    return undefined
  }
  t.after(() => {
    execFileSync('umount', ['--lazy', disk])
    rmdirSync(disk)
  })
  return disk
}

/** From now on a disk may only be read. */
export function makeReadOnly(disk: string): void {
  execFileSync('mount', ['-o', 'remount,ro', disk])
}
