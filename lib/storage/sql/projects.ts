import type { Project } from '../../domain/project.ts'
import { lockOf } from './authority.ts'
import type { Sql } from './dialect.ts'
import { findRecord, limitsOfConfigured, listBySeq, pageOfConfigured } from './pages.ts'
import { insert, run } from './program.ts'
import type { AuthorizedChange, Changed, Page, WriteOptions } from './records.ts'
import { FORMER_PUBLIC_KEYS, PROJECT_CHANGES, PROJECTS } from './tables.ts'
import { changeRecord, insertOnce, type StoredRecord, shareOf } from './write.ts'

export interface KeyRotation {
  readonly public_key: string
  /** Former keys work until this time at the latest; ISO 8601, UTC. */
  readonly former_until: string
}

export function projectMethods(sql: Sql) {
  const { read, write } = sql

  const pageOfProjects = pageOfConfigured(sql, PROJECTS, 'config', 'account_id')

  const storedProject = (id: string): StoredRecord<Project> => ({
    locks: [lockOf.project(id)],
    find: findRecord(PROJECTS.read, FIND_PROJECT + sql.forUpdate, id),
    update: (changed) => run(UPDATE_PROJECT, ...PROJECT_CHANGES.values(changed), id),
  })

  return {
    insertProject: (project: Project, options: WriteOptions = {}) =>
      insertOnce(sql, options, PROJECTS, project),
    findProject: (id: string) => read(findRecord(PROJECTS.read, FIND_PROJECT, id)),
    findProjectByPublicKey: (key: string) =>
      read(findRecord(PROJECTS.read, FIND_BY_PUBLIC_KEY, key)),
    findFormerPublicKey: (key: string) =>
      read(findRecord(FORMER_PUBLIC_KEYS.read, FIND_FORMER_KEY, key)),
    /** Lists the projects of an account in order of creation. A page of large configs ends early. */
    listProjects: (id: string, page: Page) =>
      read(listBySeq(PROJECTS, pageOfProjects, limitsOfConfigured(sql, page), id)),
    /** Replaces a project by the result of `change`: see `changeRecord`. */
    updateProject: (
      id: string,
      change: (current: Project) => Changed<Project>,
      options: AuthorizedChange = {},
    ) => write(() => changeRecord(sql, storedProject(id), change, options), shareOf(options)),
    /**
     * Replaces the public key of a project. The replaced key becomes a former key. No former key is
     * valid after `former_until`.
     */
    rotatePublicKey: (
      project_id: string,
      { public_key, former_until }: KeyRotation,
      options: AuthorizedChange = {},
    ) =>
      write(() => {
        const stored = storedProject(project_id)
        const replaceKey = function* (changed: Project, current: Project) {
          const former = { public_key: current.public_key, project_id, expires_at: former_until }
          yield* run(SHORTEN_FORMER_KEYS, former_until, project_id, former_until)
          yield* insert(FORMER_PUBLIC_KEYS, former)
          yield* stored.update(changed, current)
        }
        const change = (current: Project) => ({ record: { ...current, public_key } })
        return changeRecord(sql, { ...stored, update: replaceKey }, change, options)
      }, shareOf(options)),
  }
}

export const FIND_PROJECT = `SELECT ${PROJECTS.list} FROM projects WHERE id = ?`
const FIND_BY_PUBLIC_KEY = `SELECT ${PROJECTS.list} FROM projects WHERE public_key = ?`
const FIND_FORMER_KEY = `
  SELECT ${FORMER_PUBLIC_KEYS.list} FROM former_public_keys WHERE public_key = ?`
export const UPDATE_PROJECT = PROJECT_CHANGES.updateWhere('id = ?')
const SHORTEN_FORMER_KEYS = `
  UPDATE former_public_keys SET expires_at = ? WHERE project_id = ? AND expires_at > ?`
