import type { TokenMethods, Watermark } from '../port.ts'
import { pseudonymOf } from '../pseudonym.ts'
import { sortedPageOf } from './pages.ts'
import { type State, watermarkKey } from './state.ts'

export function tokenMethods(state: State): TokenMethods {
  const { signingKeys, watermarks, verify, recordWrite } = state

  const raise = (watermark: Watermark) => {
    const key = watermarkKey(watermark.project_id, watermark.user_id)
    const not_after = Math.max(watermark.not_after, watermarks.get(key)?.not_after ?? 0)
    watermarks.set(key, { ...watermark, not_after })
  }

  return {
    async insertSigningKey(key) {
      signingKeys.push(structuredClone(key))
    },
    async insertFirstSigningKey(key) {
      if (signingKeys.length === 0) signingKeys.push(structuredClone(key))
    },
    async listSigningKeys() {
      return structuredClone(signingKeys)
    },
    async rotateSigningKeys(key, drop, write = {}) {
      verify(write.authority)
      const all = structuredClone([...signingKeys, key])
      const kids = drop(all)
      signingKeys.splice(0, signingKeys.length, ...all.filter(({ kid }) => !kids.includes(kid)))
      recordWrite(write)
      return kids
    },

    async revokeTokens({ project_id, user_id, at }, write = {}) {
      verify(write.authority)
      const pseudonym = pseudonymOf({ project_id, user_id })
      const covered = [...watermarks.values()].filter((each) => {
        if (each.project_id !== project_id) return false
        return user_id === '' || ['', user_id, pseudonym].includes(each.user_id)
      })
      const not_after = Math.max(at, ...covered.map((each) => each.not_after + 1))
      watermarks.set(watermarkKey(project_id, user_id), { project_id, user_id, not_after })
      recordWrite(write)
    },
    async insertWatermark(watermark) {
      raise(watermark)
    },
    async pseudonymizeWatermark(user, write = {}) {
      const { project_id, user_id } = user
      verify(write.authority)
      const watermark = watermarks.get(watermarkKey(project_id, user_id))
      if (watermark) raise({ ...watermark, user_id: pseudonymOf(user) })
      watermarks.delete(watermarkKey(project_id, user_id))
      recordWrite(write)
    },
    async findWatermark(project_id, user_id) {
      return state.watermarkOf(project_id, user_id)
    },
    async listWatermarks(project_id, page) {
      const found = [...watermarks.values()].filter((each) => each.project_id === project_id)
      return sortedPageOf(found, page, ({ user_id }) => user_id)
    },
  }
}
