import type { Project } from '../../domain/project.ts'
import type { ProjectMethods } from '../port.ts'
import { bytesOf } from '../quota.ts'
import { pageOf } from './pages.ts'
import type { State } from './state.ts'

export function projectMethods(state: State): ProjectMethods {
  const { projects, publicKeys, formerKeys, verify, recordWrite } = state
  return {
    async insertProject(project, write = {}) {
      return state.insertOnce(write, () => {
        state.countConfig(project.account_id, write.quota, project.config)
        projects.set(project.id, structuredClone(project))
        publicKeys.set(project.public_key, project.id)
        return true
      })
    },
    async findProject(id) {
      return structuredClone(projects.get(id))
    },
    async findProjectByPublicKey(public_key) {
      return structuredClone(projects.get(publicKeys.get(public_key) ?? ''))
    },
    async listProjects(account_id, page) {
      const textOf = ({ config }: Project) => bytesOf(config)
      return pageOf(state.projectsOf(account_id), page, textOf)
    },
    async updateProject(id, change, write = {}) {
      verify(write.authority)
      const current = structuredClone(projects.get(id))
      if (!current) return undefined
      const changed = change(current)
      if (changed === current) return current
      state.countConfig(changed.account_id, write.quota, changed.config, current.config)
      projects.set(id, structuredClone(changed))
      recordWrite(write)
      return structuredClone(changed)
    },
    async rotatePublicKey(project_id, { public_key, former_until }, write = {}) {
      verify(write.authority)
      const current = projects.get(project_id)
      if (!current) return
      for (const [key, former] of formerKeys) {
        if (former.project_id !== project_id || former.expires_at <= former_until) continue
        formerKeys.set(key, { ...former, expires_at: former_until })
      }
      const former = { public_key: current.public_key, project_id, expires_at: former_until }
      formerKeys.set(current.public_key, former)
      publicKeys.delete(current.public_key)
      publicKeys.set(public_key, project_id)
      projects.set(project_id, { ...current, public_key })
      recordWrite(write)
    },
    async findFormerPublicKey(public_key) {
      return structuredClone(formerKeys.get(public_key))
    },
    async listFormerPublicKeys(project_id, page) {
      const found = [...formerKeys.values()].filter((each) => each.project_id === project_id)
      return pageOf(found, page)
    },
  }
}
