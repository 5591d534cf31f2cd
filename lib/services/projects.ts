import type { Account } from '../domain/account.ts'
import { invalidField, parseObject, sentFields } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import { isObject } from '../domain/json.ts'
import {
  changeProject,
  type NewProject,
  type Project,
  type ProjectChange,
  type ProjectKeyRotation,
  parseKeyRotation,
  parseNewProject,
  parseProjectChange,
} from '../domain/project.ts'
import { type ListPage, type ListQuery, listFields, pageFor } from '../domain/query.ts'
import { TillError } from '../errors.ts'
import { listAll } from '../storage/port.ts'
import {
  assertAccount,
  assertCaller,
  assertScope,
  type Caller,
  findReachableProject,
  getNamedProject,
  getProjectByKey,
  isSession,
  verified,
} from './access.ts'
import { auditedWrite, type CallOptions, type CreateOptions, subjectOf } from './audit.ts'
import { createConfigured, updateConfigured } from './configured.ts'
import type { Context } from './context.ts'
import { assertMatch, type ChangeOptions } from './etag.ts'
import { createId, createPublicKey } from './ids.ts'
import { changeSealed, namesOfSecrets, withoutSecrets, withSentSecrets } from './secret-fields.ts'

export interface Projects {
  /**
   * Creates a project with a new `public_key`. Returns it with the sent `config`, secrets included.
   */
  create(account: Account, input: NewProject, options?: CreateOptions): Promise<Project>
  /**
   * Finds the project of a public key. Throws `invalid_public_key` for a missing or unknown key and
   * `project_inactive` for one that is not active.
   */
  authenticate(public_key: string | undefined): Promise<Project>
  /**
   * Changes the given fields. Only an account can change `status`. If the new values equal the
   * stored ones, writes no audit entry. Throws `etag_mismatch` if `ifMatch` is not its ETag.
   */
  update(caller: Caller, input: ProjectChange, options?: ChangeOptions): Promise<Project>
  /** Gives the project a new public key. Former keys work until the grace period ends. */
  rotateKey(account: Account, input: ProjectKeyRotation, options?: CallOptions): Promise<Project>
  /** Finds a project. Throws `project_not_found`, also for one that the caller has no access to. */
  get(caller: Caller, id: string): Promise<Project>
  /** Whether a webhook URL or secret of a project waits for a confirmation. Throws like `get`. */
  hasUnconfirmedWebhook(caller: Caller, id: string): Promise<boolean>
  /** The names of the secrets that are set in a project's `config`. Throws like `get`. */
  listSecrets(account: Account, id: string): Promise<string[]>
  /**
   * Reads one page of the account's projects in order of creation. A page ends before its limit
   * once its projects hold 128 KiB of configuration.
   */
  list(account: Account, query?: ListQuery): Promise<ProjectPage>
  /** Iterates over all projects of the account, and reads them page by page. */
  all(account: Account): AsyncIterable<Project>
}

export interface ProjectPage extends ListPage {
  readonly projects: readonly Project[]
}

export function createProjects(context: Context): Projects {
  const { storage, now, platforms, sealer, quotas } = context
  const { projects: maxProjects, configBytes: config_bytes } = quotas

  const getProject = async (caller: Caller, id: string): Promise<Project> => {
    assertCaller(caller, 'read')
    const project = await findReachableProject(storage, caller, id)
    if (project) return project
    throw new TillError('project_not_found', 'No project has this id')
  }

  const projects: Projects = {
    async create(account, input, options = {}) {
      assertAccount(account, 'catalog')
      const { account_id } = account
      const named = isObject(input) ? { account_id, ...input } : input
      const fields = parseNewProject(named, platforms)
      if (fields.account_id !== account_id) {
        throw invalidField('account_id', 'mismatch', 'must be the account of the account key')
      }
      const record = {
        id: createId('prj', now()),
        ...fields,
        public_key: createPublicKey(),
        created_at: formatInstant(now()),
      }
      const quota = { account_id, projects: maxProjects, config_bytes }
      const creation = { input: fields, sent: () => sentFields(fields, named), record, quota }
      const created = await createConfigured(context, account, creation, options)
      return created as Project // always defined, because no other project has the new id
    },

    async authenticate(public_key) {
      return withoutSecrets(await getProjectByKey(context, public_key))
    },

    async update(caller, input, { ifMatch, ...options } = {}) {
      assertScope(caller, 'projects:write')
      const change = parseProjectChange(input, isSession(caller) ? 'session' : 'account', platforms)
      const project = await getNamedProject(storage, caller, change.id, 'id')
      const apply = (current: Project) => {
        assertMatch(ifMatch, current)
        return changeSealed(current, changeProject(current, change), sealer)
      }
      // Without a new config, checks no quota: encryption alone may make the stored config larger.
      const quota = change.config && { account_id: project.account_id, config_bytes }
      const all = { ...options, quota }
      const changed = await updateConfigured(context, caller, 'project.update', project, apply, all)
      return withSentSecrets(changed, change.config)
    },

    async rotateKey(account, input, options) {
      assertAccount(account, 'admin')
      const { id, grace_period } = parseKeyRotation(input)
      const project = await getNamedProject(storage, account, id, 'id')
      const rotation = {
        public_key: createPublicKey(),
        former_until: formatInstant(now() + grace_period),
      }
      const about = subjectOf(project)
      const write = auditedWrite(context, account, 'project.rotate_key', about, options)
      await storage.rotatePublicKey(id, rotation, write)
      return { ...withoutSecrets(project), public_key: rotation.public_key }
    },

    get: async (caller, id) => withoutSecrets(await getProject(caller, id)),

    async hasUnconfirmedWebhook(caller, id) {
      await getProject(caller, id)
      return (await storage.findEndpoint(id))?.unconfirmed !== undefined
    },

    async listSecrets(account, id) {
      assertAccount(account, 'read')
      return namesOfSecrets(await getProject(account, id))
    },

    async list(account, query = {}) {
      assertAccount(account, 'read')
      const page = pageFor(parseObject(query, listFields))
      const { records, ...next } = await storage.listProjects(account.account_id, page)
      return { projects: records.map(withoutSecrets), ...next }
    },

    all: (account) =>
      listAll(
        verified(context, account, 'read', (page) => projects.list(account, page)),
        'projects',
      ),
  }
  return projects
}
