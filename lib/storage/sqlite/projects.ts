import type { Project } from '../../domain/project.ts'
import { recordPage } from '../pages.ts'
import type { ProjectMethods } from '../port.ts'
import { formerPublicKeyRecord, maybe, projectRecord } from '../records.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { verifyAuthority } from './authority.ts'
import type { Connection, Row } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function projectMethods(db: Connection): ProjectMethods {
  return {
    insertProject(project, write = {}) {
      return db.write(() => insertOnce(db, write, () => insertProject(db, project)))
    },
    async findProject(id) {
      return findProject(db, id)
    },
    async findProjectByPublicKey(public_key) {
      const sql = 'SELECT * FROM projects WHERE public_key = ?'
      return maybe(projectRecord, db.find(sql, public_key))
    },
    async listProjects(account_id, page) {
      return db.some(
        (rows) => recordPage(rows, page, projectRecord, ({ seq }) => seq, textOf),
        'SELECT * FROM projects WHERE account_id = ? AND seq > ? ORDER BY seq LIMIT ?',
        account_id,
        page.after ?? 0,
        page.limit + 1,
      )
    },
    updateProject(id, change, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        const current = findProject(db, id)
        if (!current) return undefined
        const changed = change(current)
        if (changed === current) return current
        updateProject(db, id, changed)
        assertQuotaOfGrowth(db, write.quota, current.config, changed.config)
        recordWrite(db, write)
        return changed
      })
    },
    rotatePublicKey(project_id, { public_key, former_until }, write = {}) {
      return db.write(() => {
        verifyAuthority(db, write.authority)
        db.run(
          `INSERT INTO former_public_keys (public_key, project_id, expires_at)
           SELECT public_key, id, ? FROM projects WHERE id = ?`,
          former_until,
          project_id,
        )
        db.run(
          'UPDATE former_public_keys SET expires_at = min(expires_at, ?) WHERE project_id = ?',
          former_until,
          project_id,
        )
        const sql = 'UPDATE projects SET public_key = ? WHERE id = ?'
        if (db.run(sql, public_key, project_id) === 1) recordWrite(db, write)
      })
    },
    async findFormerPublicKey(public_key) {
      const sql = 'SELECT * FROM former_public_keys WHERE public_key = ?'
      return maybe(formerPublicKeyRecord, db.find(sql, public_key))
    },
    async listFormerPublicKeys(project_id, page) {
      const rows = db.all(
        `SELECT rowid AS seq, * FROM former_public_keys WHERE project_id = ? AND rowid > ?
         ORDER BY rowid LIMIT ?`,
        project_id,
        page.after ?? 0,
        page.limit + 1,
      )
      return recordPage(rows, page, formerPublicKeyRecord, ({ seq }) => seq)
    },
  }
}

function textOf({ config }: Row): number {
  return (config as string).length
}

function findProject(db: Connection, id: string): Project | undefined {
  return maybe(projectRecord, db.find('SELECT * FROM projects WHERE id = ?', id))
}

function insertProject(db: Connection, project: Project): true {
  db.run(
    `INSERT INTO projects (id, account_id, name, bundle_id, platform, status, dlscheme,
       public_key, config, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    project.id,
    project.account_id,
    project.name,
    project.bundle_id,
    project.platform,
    project.status,
    project.dlscheme,
    project.public_key,
    JSON.stringify(project.config),
    project.created_at,
  )
  return true
}

function updateProject(db: Connection, id: string, changed: Project): void {
  db.run(
    `UPDATE projects SET name = ?, bundle_id = ?, platform = ?, status = ?, dlscheme = ?,
       public_key = ?, config = ? WHERE id = ?`,
    changed.name,
    changed.bundle_id,
    changed.platform,
    changed.status,
    changed.dlscheme,
    changed.public_key,
    JSON.stringify(changed.config),
    id,
  )
}
