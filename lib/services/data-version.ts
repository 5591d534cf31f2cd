import type { DataVersion } from '../storage/port.ts'
import type { Context } from './context.ts'

/**
 * Creates the data version of a till, by which programs validate cached answers. It also changes when a
 * signing key is dropped, because the tokens of that key are then invalid.
 */
export function createDataVersion({ storage, keyring }: Context): DataVersion | undefined {
  const { dataVersion } = storage
  if (!dataVersion) return undefined
  return {
    current: () => dataVersion.current() + keyring.version(),
    check() {
      const reload = keyring.refresh()
      return reload ? reload.then(() => dataVersion.check()) : dataVersion.check()
    },
  }
}
