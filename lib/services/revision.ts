import type { Revision } from '../storage/port.ts'
import type { Context } from './context.ts'

/**
 * Creates the revision of a till, by which programs validate cached answers. It also changes when a
 * signing key is dropped, because the tokens of that key are then invalid.
 */
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
