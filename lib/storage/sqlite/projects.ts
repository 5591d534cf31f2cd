import type { Project } from '../../domain/project.ts'
import type { ProjectVerbs } from '../port.ts'
import { formerPublicKeyRecord, maybe, projectRecord } from '../records.ts'
import type { Connection } from './connection.ts'
import { insertOnce, writeTrail } from './trail.ts'

export function projectVerbs(db: Connection): ProjectVerbs {
  return {
    insertProject(project, trail = {}) {
      return db.write(() => insertOnce(db, trail, () => insertProject(db, project)))
    },
    async findProject(id) {
      return findProject(db, id)
    },
    async findProjectByPublicKey(public_key) {
      const sql = 'SELECT * FROM projects WHERE public_key = ?'
      return maybe(projectRecord, db.find(sql, public_key))
    },
    async listProjects(account_id) {
      const sql = 'SELECT * FROM projects WHERE account_id = ? ORDER BY seq'
      return db.all(sql, account_id).map(projectRecord)
    },
    updateProject(id, change, trail = {}) {
      return db.write(() => {
        const current = findProject(db, id)
        if (!current) return undefined
        const changed = change(current)
        updateProject(db, id, changed)
        writeTrail(db, trail)
        return changed
      })
    },
    rotatePublicKey(project_id, { public_key, former_until }, trail = {}) {
      return db.write(() => {
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
        if (db.run(sql, public_key, project_id) === 1) writeTrail(db, trail)
      })
    },
    async findFormerPublicKey(public_key) {
      const sql = 'SELECT * FROM former_public_keys WHERE public_key = ?'
      return maybe(formerPublicKeyRecord, db.find(sql, public_key))
    },
    async listFormerPublicKeys() {
      return db.all('SELECT * FROM former_public_keys ORDER BY rowid').map(formerPublicKeyRecord)
    },
  }
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
