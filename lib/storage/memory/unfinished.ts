import type { CopyMethods } from '../port.ts'
import type { State } from './state.ts'

export function unfinishedMethods(state: State): CopyMethods {
  return {
    async beginCopy() {
      const { accounts, signingKeys, audit } = state
      state.isUnfinished ||= accounts.size + signingKeys.length + audit.length === 0
      return state.isUnfinished
    },
    async endCopy() {
      state.isUnfinished = false
    },
  }
}
