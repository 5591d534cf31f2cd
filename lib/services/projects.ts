import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import {
  changeProject,
  type NewProject,
  type Project,
  type ProjectChange,
  type ProjectKeyRotation,
  parseKeyRotation,
  parseNewProject,
  parseProjectChange,
  withoutProjectSecrets,
} from '../domain/project.ts'
import { type ListQuery, pageFor, parseListQuery } from '../domain/query.ts'
import { TillError } from '../errors.ts'
import { pagesOf } from '../storage/pages.ts'
import {
  assertAccount,
  assertScope,
  type Caller,
  findReachableProject,
  getNamedProject,
  getProjectByKey,
  isSession,
} from './access.ts'
import { auditedWrite, type CallOptions, type CreateOptions, makeOnce } from './audit.ts'
import type { Context } from './context.ts'
import { createId, createPublicKey } from './ids.ts'
import { changeSealed, sealSecrets } from './secrets.ts'

export interface Projects {
  /** Endpoint 8. The answer holds `config` as it was sent, and the new public key. */
  create(account: Account, input: NewProject, options?: CreateOptions): Promise<Project>
  /**
   * The project of a public key, with which its clients open sessions. Throws `invalid_public_key`
   * for one that is missing or unknown, and `project_inactive`.
   */
  authenticate(public_key: string | undefined): Promise<Project>
  /**
   * Endpoint 9: changes what `input` holds. `status` is an account's to change; others' is ignored.
   * When nothing differs, nothing is written, and no audit entry either.
   */
  update(caller: Caller, input: ProjectChange, options?: CallOptions): Promise<Project>
  /**
   * Gives the project a new public key. Those before open sessions for `grace_seconds` more at
   * most: a day unless told, 0 to 30 days.
   */
  rotateKey(account: Account, input: ProjectKeyRotation, options?: CallOptions): Promise<Project>
  /** Throws `project_not_found`, for a foreign one too. */
  get(caller: Caller, id: string): Promise<Project>
  /**
   * A page of the account's projects, in order of creation. It has fewer than `limit` once they hold
   * a mebibyte of configuration.
   */
  list(account: Account, query?: ListQuery): Promise<ProjectPage>
  /** All projects of the account, read page by page. */
  all(account: Account): AsyncIterable<Project>
}

export interface ProjectPage {
  readonly projects: readonly Project[]
  /** The `cursor` of the next page; absent on the last. */
  readonly next?: string
}

export function createProjects(context: Context): Projects {
  const { storage, now, platforms, sealer, quotas } = context
  const { projects: most, configBytes: config_bytes } = quotas
  const projects: Projects = {
    async create(account, input, options = {}) {
      assertAccount(account)
      const fields = parseNewProject(input, platforms)
      if (fields.account_id !== account.account_id) {
        throw invalidField('account_id', 'mismatch', 'must be the account of the account key')
      }
      const project = {
        id: createId('prj', now()),
        ...fields,
        public_key: createPublicKey(),
        created_at: formatInstant(now()),
      }
      const making = { asked: fields, made: project, subject: project.id }
      const quota = { account_id: account.account_id, projects: most, config_bytes }
      const made = await makeOnce(context, account, 'project.create', making, options, (write) =>
        storage.insertProject(sealSecrets(project, sealer), { ...write, quota }),
      )
      return made as Project // its id is new: it can not be taken
    },

    async authenticate(public_key) {
      return withoutProjectSecrets(await getProjectByKey(context, public_key))
    },

    async update(caller, input, options) {
      assertScope(caller, 'projects:write')
      const change = parseProjectChange(input, isSession(caller) ? 'session' : 'account', platforms)
      const { account_id } = await getNamedProject(storage, caller, change.id, 'id')
      // A secret that is sealed on the way makes no change of a name too large.
      const quota = change.config && { account_id, config_bytes }
      const write = auditedWrite(context, caller, 'project.update', change.id, options)
      const changed = await storage.updateProject(
        change.id,
        (current) => changeSealed(current, changeProject(current, change), sealer),
        quota ? { ...write, quota } : write,
      )
      if (!changed) throw new TillError('project_not_found', 'No project has this id')
      // A secret goes back only to the one who sent it.
      const { webhook_secret } = change.config ?? {}
      const shown = withoutProjectSecrets(changed)
      return webhook_secret ? { ...shown, config: { ...shown.config, webhook_secret } } : shown
    },

    async rotateKey(account, input, options) {
      assertAccount(account)
      const { id, grace_seconds } = parseKeyRotation(input)
      const project = await getNamedProject(storage, account, id, 'id')
      const rotation = {
        public_key: createPublicKey(),
        former_until: formatInstant(now() + grace_seconds * 1000),
      }
      const write = auditedWrite(context, account, 'project.rotate_key', id, options)
      await storage.rotatePublicKey(id, rotation, write)
      return { ...withoutProjectSecrets(project), public_key: rotation.public_key }
    },

    async get(caller, id) {
      const project = await findReachableProject(storage, caller, id)
      if (project) return withoutProjectSecrets(project)
      throw new TillError('project_not_found', 'No project has this id')
    },

    async list(account, query = {}) {
      assertAccount(account)
      const page = pageFor(parseListQuery(query))
      const { records, ...further } = await storage.listProjects(account.account_id, page)
      return { projects: records.map(withoutProjectSecrets), ...further }
    },

    async *all(account) {
      for await (const page of pagesOf(({ limit, after: cursor }) =>
        projects.list(account, { limit, cursor }),
      )) {
        yield* page.projects
      }
    },
  }
  return projects
}
