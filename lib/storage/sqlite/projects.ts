import { maybe, type Row } from '../columns.ts'
import { recordPage } from '../pages.ts'
import type { ProjectMethods } from '../port.ts'
import { projectReads } from '../reads.ts'
import { FIND_PROJECT, pageOf, SHORTEN_FORMER_KEYS, UPDATE_PROJECT } from '../statements.ts'
import { FORMER_PUBLIC_KEYS, PROJECT_CHANGES, PROJECTS } from '../tables.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function projectMethods(db: Connection): ProjectMethods {
  return {
    ...projectReads(db, 'rowid'),
    insertProject: (project, write = {}) =>
      db.write(() => insertOnce(db, write, PROJECTS, project)),
    async listProjects(account_id, page) {
      return db.some(
        (rows) => recordPage(rows, page, PROJECTS.read, ({ seq }) => seq, textOf),
        PAGE_OF_PROJECTS,
        account_id,
        page.after ?? '0',
        page.limit + 1,
      )
    },
    updateProject(id, change, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const current = maybe(PROJECTS.read, db.find(FIND_PROJECT, id))
        if (!current) return undefined
        const changed = change(current)
        if (changed === current) return current
        db.run(UPDATE_PROJECT, ...PROJECT_CHANGES.sqliteValues(changed), id)
        assertQuotaOfGrowth(db, write.quota, current.config, changed.config)
        recordWrite(db, write)
        return changed
      })
    },
    rotatePublicKey(project_id, { public_key, former_until }, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const current = maybe(PROJECTS.read, db.find(FIND_PROJECT, project_id))
        if (!current) return
        const former = { public_key: current.public_key, project_id, expires_at: former_until }
        db.run(SHORTEN_FORMER_KEYS, former_until, project_id, former_until)
        db.insert(FORMER_PUBLIC_KEYS, former)
        const changed = { ...current, public_key }
        db.run(UPDATE_PROJECT, ...PROJECT_CHANGES.sqliteValues(changed), project_id)
        recordWrite(db, write)
      })
    },
  }
}

const PAGE_OF_PROJECTS = pageOf(PROJECTS, 'account_id')

function textOf({ config }: Row): number {
  return (config as string).length
}
