import type { Account } from '../domain/account.ts'
import { invalidField } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import {
  changeProject,
  type Project,
  parseNewProject,
  parseProjectChange,
  withoutProjectSecrets,
} from '../domain/project.ts'
import { TillError } from '../errors.ts'
import {
  assertAccount,
  assertScope,
  type Caller,
  findReachableProject,
  getNamedProject,
  getProjectByKey,
  isSession,
} from './access.ts'
import type { Context } from './context.ts'
import { createId, createPublicKey } from './ids.ts'

export interface Projects {
  /** Endpoint 8. The answer holds `config` as it was sent, and the new public key. */
  create(account: Account, input: unknown): Promise<Project>
  /**
   * The project of a public key, with which its clients open sessions. Throws `invalid_public_key`
   * for one that is missing or unknown, and `project_inactive`.
   */
  authenticate(public_key: string | undefined): Promise<Project>
  /** Endpoint 9: changes what `input` holds. `status` is an account's to change; others' is ignored. */
  update(caller: Caller, input: unknown): Promise<Project>
  /** Throws `project_not_found`, for a foreign one too. */
  get(caller: Caller, id: string): Promise<Project>
  list(account: Account): Promise<Project[]>
}

export function createProjects({ storage, now, platforms }: Context): Projects {
  return {
    async create(account, input) {
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
      await storage.insertProject(project)
      return project
    },

    async authenticate(public_key) {
      return withoutProjectSecrets(await getProjectByKey(storage, public_key))
    },

    async update(caller, input) {
      assertScope(caller, 'projects:write')
      const change = parseProjectChange(input, isSession(caller) ? 'session' : 'account', platforms)
      await getNamedProject(storage, caller, change.id, 'id')
      const changed = await storage.updateProject(change.id, (current) =>
        changeProject(current, change),
      )
      if (!changed) throw new TillError('project_not_found', 'No project has this id')
      // A secret goes back only to the one who sent it.
      return change.config?.webhook_secret ? changed : withoutProjectSecrets(changed)
    },

    async get(caller, id) {
      const project = await findReachableProject(storage, caller, id)
      if (project) return withoutProjectSecrets(project)
      throw new TillError('project_not_found', 'No project has this id')
    },

    async list(account) {
      assertAccount(account)
      const projects = await storage.listProjects(account.account_id)
      return projects.map(withoutProjectSecrets)
    },
  }
}
