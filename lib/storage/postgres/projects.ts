import type { Project } from '../../domain/project.ts'
import { recordPage } from '../pages.ts'
import type { ProjectMethods } from '../port.ts'
import { formerPublicKeyRecord, maybe, projectRecord } from '../records.ts'
import { insertOnce, recordWrite } from './audit.ts'
import { lockAuthority, lockOf, verifyAuthority } from './authority.ts'
import { configuredQuery, listConfigured } from './configured.ts'
import type { Connection, Database } from './connection.ts'
import { assertQuotaOfGrowth } from './quota.ts'

export function projectMethods(db: Database): ProjectMethods {
  return {
    insertProject(project, write = {}) {
      return insertOnce(
        db,
        write,
        `INSERT INTO projects (id, account_id, name, bundle_id, platform, status, dlscheme,
           public_key, config, created_at) SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM authority`,
        project.id,
        project.account_id,
        project.name,
        project.bundle_id,
        project.platform,
        project.status,
        project.dlscheme,
        project.public_key,
        project.config,
        project.created_at,
      )
    },
    async findProject(id) {
      return maybe(projectRecord, await db.find('SELECT * FROM projects WHERE id = $1', id))
    },
    async findProjectByPublicKey(public_key) {
      const sql = 'SELECT * FROM projects WHERE public_key = $1'
      return maybe(projectRecord, await db.find(sql, public_key))
    },
    listProjects: (account_id, page) => listConfigured(db, LIST, account_id, page, projectRecord),
    updateProject(id, change, write = {}) {
      return db.transaction(async (tx) => {
        await lockAuthority(tx, write.authority, lockOf.project(id))
        const current = await lockProject(tx, id)
        if (!current) return undefined
        await verifyAuthority(tx, write.authority)
        const changed = change(current)
        if (changed === current) return current
        await updateProject(tx, id, changed)
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
        await tx.run(
          `UPDATE former_public_keys SET expires_at = $1
           WHERE project_id = $2 AND expires_at > $1`,
          former_until,
          project_id,
        )
        await tx.run(
          `INSERT INTO former_public_keys (public_key, project_id, expires_at)
           VALUES ($1, $2, $3)`,
          current.public_key,
          project_id,
          former_until,
        )
        await updateProject(tx, project_id, { ...current, public_key })
        await recordWrite(tx, write)
      })
    },
    async findFormerPublicKey(public_key) {
      const sql = 'SELECT * FROM former_public_keys WHERE public_key = $1'
      return maybe(formerPublicKeyRecord, await db.find(sql, public_key))
    },
    async listFormerPublicKeys(project_id, page) {
      const sql =
        'SELECT * FROM former_public_keys WHERE project_id = $1 AND seq > $2::bigint ORDER BY seq LIMIT $3'
      const rows = await db.all(sql, project_id, page.after ?? '0', page.limit + 1)
      return recordPage(rows, page, formerPublicKeyRecord, ({ seq }) => seq)
    },
  }
}

const LIST = configuredQuery('projects', 'account_id', 'config')

/** The project as it stays until the end of the transaction. */
async function lockProject(on: Connection, id: string): Promise<Project | undefined> {
  const sql = 'SELECT * FROM projects WHERE id = $1 FOR NO KEY UPDATE'
  return maybe(projectRecord, await on.find(sql, id))
}

async function updateProject(on: Connection, id: string, changed: Project): Promise<void> {
  await on.run(
    `UPDATE projects SET name = $1, bundle_id = $2, platform = $3, status = $4, dlscheme = $5,
       public_key = $6, config = $7 WHERE id = $8`,
    changed.name,
    changed.bundle_id,
    changed.platform,
    changed.status,
    changed.dlscheme,
    changed.public_key,
    changed.config,
    id,
  )
}
