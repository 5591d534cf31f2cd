import type { Project } from '../../domain/project.ts'
import { maybe } from '../columns.ts'
import type { ProjectMethods } from '../port.ts'
import { projectReads } from '../reads.ts'
import { FIND_PROJECT, SHORTEN_FORMER_KEYS, UPDATE_PROJECT } from '../statements.ts'
import { FORMER_PUBLIC_KEYS, PROJECT_CHANGES, PROJECTS } from '../tables.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import { configuredQuery, listConfigured } from './configured.ts'
import type { Connection, Database } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function projectMethods(db: Database): ProjectMethods {
  return {
    ...projectReads(db, 'seq'),
    insertProject: (project, write = {}) => insertOnce(db, write, PROJECTS, project),
    listProjects: (account_id, page) =>
      listConfigured(db, PROJECTS, PAGE_OF_PROJECTS, account_id, page),
    updateProject(id, change, write = {}) {
      return db.transaction(async (tx) => {
        await lockAuthority(tx, write.authority, lockOf.project(id))
        const current = await lockProject(tx, id)
        if (!current) return undefined
        await verifyAuthority(tx, write.authority)
        const changed = change(current)
        if (changed === current) return current
        await tx.run(UPDATE_PROJECT, ...PROJECT_CHANGES.values(changed), id)
        await assertQuotaOfGrowth(tx, write.quota, current.config, changed.config)
        await recordWrite(tx, write)
        return changed
      })
    },
    rotatePublicKey(project_id, { public_key, former_until }, write = {}) {
      return db.transaction(async (tx) => {
        await lockAuthority(tx, write.authority, lockOf.project(project_id))
        const current = await lockProject(tx, project_id)
        if (!current) return
        await verifyAuthority(tx, write.authority)
        const former = { public_key: current.public_key, project_id, expires_at: former_until }
        await tx.run(SHORTEN_FORMER_KEYS, former_until, project_id, former_until)
        await tx.insert(FORMER_PUBLIC_KEYS, former)
        const changed = { ...current, public_key }
        await tx.run(UPDATE_PROJECT, ...PROJECT_CHANGES.values(changed), project_id)
        await recordWrite(tx, write)
      })
    },
  }
}

const PAGE_OF_PROJECTS = configuredQuery(PROJECTS, 'account_id', 'config')

/** Finds a project, and prevents changes by other transactions until this one ends. */
async function lockProject(tx: Connection, id: string): Promise<Project | undefined> {
  return maybe(PROJECTS.read, await tx.find(`${FIND_PROJECT} FOR NO KEY UPDATE`, id))
}
