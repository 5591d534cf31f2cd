import type { Revision } from '../storage/port.ts'
import type { Context } from './context.ts'

/** Adds the signing keys to the storage's revision: a dropped key makes its tokens invalid. */
export function createRevision({ storage, keyring }: Context): Revision | undefined {
  const { revision } = storage
  if (!revision) return undefined
  return {
    current: () => revision.current() + keyring.revision(),
    check() {
      const reload = keyring.refresh()
      return reload ? reload.then(() => revision.check()) : revision.check()
    },
  }
}
