import type { Project } from '../../domain/project.ts'
import type { Page, RecordPage } from './page.ts'
import type { Insertion, WriteOptions } from './write.ts'

export interface ProjectMethods {
  insertProject(project: Project, write?: WriteOptions): Promise<Insertion>
  findProject(id: string): Promise<Project | undefined>
  findProjectByPublicKey(public_key: string): Promise<Project | undefined>
  /** Lists the projects of an account in order of creation. A page of large configs ends early. */
  listProjects(account_id: string, page: Page): Promise<RecordPage<Project>>
  /**
   * Replaces a project by the result of `change`. Concurrent updates run one after the other. If
   * `change` returns its argument, writes nothing, not even the audit entry. Resolves to the stored
   * project, or to undefined if there is none.
   */
  updateProject(
    id: string,
    change: (current: Project) => Project,
    write?: WriteOptions,
  ): Promise<Project | undefined>
  /**
   * Replaces the public key of a project. The replaced key becomes a former key. No former key is
   * valid after `former_until`.
   */
  rotatePublicKey(project_id: string, rotation: KeyRotation, write?: WriteOptions): Promise<void>
  findFormerPublicKey(public_key: string): Promise<FormerPublicKey | undefined>
  /** Lists the former keys of a project, in the order in which they were replaced. */
  listFormerPublicKeys(project_id: string, page: Page): Promise<RecordPage<FormerPublicKey>>
}

export interface KeyRotation {
  readonly public_key: string
  /** Former keys work until this time at the latest; ISO 8601, UTC. */
  readonly former_until: string
}

export interface FormerPublicKey {
  readonly public_key: string
  readonly project_id: string
  readonly expires_at: string
}
