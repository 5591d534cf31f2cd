import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** A disk of `mib` MiB. Returns undefined and skips the test when it cannot make one. */
export const smallDisk = (t: TestContext, mib = 2): string | undefined =>
  mount(t, ['-t', 'tmpfs', '-o', `size=${mib}m`])

/** A disk that reports no size. Returns undefined and skips the test when it cannot make one. */
export const unsizedDisk = (t: TestContext): string | undefined => mount(t, ['-t', 'ramfs'])

function mount(t: TestContext, options: readonly string[]): string | undefined {
  const disk = mkdtempSync(join(tmpdir(), 'tillkit-disk-'))
  try {
    execFileSync('mount', [...options, 'none', disk], { stdio: 'ignore' })
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

/** Remounts a disk read-only. */
export function makeReadOnly(disk: string): void {
  execFileSync('mount', ['-o', 'remount,ro', disk])
}
