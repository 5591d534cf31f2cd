import type { Account } from '../domain/account.ts'
import { parseObject } from '../domain/fields.ts'
import { formatInstant } from '../domain/instant.ts'
import {
  type ErasedUser,
  erasureFields,
  type UserErasure,
  type UserQuery,
  userFields,
} from '../domain/user.ts'
import {
  isAbout,
  namesOf,
  type Page,
  pagesOf,
  pseudonymOf,
  recordsOf,
  type UserKey,
} from '../storage/port.ts'
import { assertAccount, authorityOf, getNamedProject, verified } from './access.ts'
import { auditedWrite, type CallOptions } from './audit.ts'
import type { Context } from './context.ts'
import { createId } from './ids.ts'
import { afterImport } from './purchases/after-import.ts'

export interface Users {
  /**
   * Yields a JSON document in chunks, with everything stored about a user of a project: purchases,
   * revocations and audit entries. At most one page is in memory. The first chunk has no stored
   * data, and the audit entry is written after it: an HTTP HEAD request writes none.
   */
  export(account: Account, user: UserQuery, options?: CallOptions): AsyncIterable<string>
  /**
   * Removes a user from the purchases of a project, and replaces the user's id by a pseudonym in
   * revocations and audit entries. Deletes the HTTP response bodies in the delivery logs of the
   * project's webhooks. Purchases keep their amounts. Imports into a store wait while its purchases
   * are erased. After a crash, repeat the call to finish the erasure.
   */
  erase(account: Account, user: UserErasure, options?: EraseOptions): Promise<ErasedUser>
}

export interface EraseOptions extends CallOptions {
  /** Called after each batch with the number of purchases erased so far. */
  readonly onProgress?: ((purchases: number) => void) | undefined
  /** Stops after a batch and throws the signal's reason. Repeat the call to finish the erasure. */
  readonly signal?: AbortSignal | undefined
}

/** The number of records that an export reads at once. Other requests wait meanwhile. */
const EXPORT_PAGE = 200

export function createUsers(context: Context): Users {
  const { storage, now, longCalls } = context

  const listStores = (project_id: string) => (page: Page) =>
    storage.listStoreSummaries(project_id, page)

  const subjectOf = (user: UserKey) => {
    const { project_id } = user
    return { subject: `${project_id}/${pseudonymOf(user)}`, project_id }
  }

  async function* purchasesOf(account: Account, { project_id, user_id }: UserKey) {
    const { account_id } = account
    for await (const { store_id } of recordsOf(
      verified(context, account, 'users', listStores(project_id)),
    )) {
      const list = (page: Page) =>
        storage.listPurchases({ account_id, store_id }, { user_id }, page)
      const pages = pagesOf(verified(context, account, 'users', list), EXPORT_PAGE)
      for await (const { records } of pages) yield records
    }
  }

  async function* revocationsOf(user: UserKey) {
    const own = await storage.listUserWatermarks(user)
    yield own.map((each) => ({ ...each, not_after: formatInstant(each.not_after * 1000) }))
  }

  async function* entriesAbout(account: Account, user: UserKey) {
    const names = [user, { ...user, user_id: pseudonymOf(user) }].map(namesOf)
    const list = (page: Page) => storage.listAudit(account.account_id, page)
    for await (const { entries } of pagesOf(
      verified(context, account, 'users', list),
      EXPORT_PAGE,
    )) {
      yield entries.filter((entry) => names.some((own) => isAbout(entry, own)))
    }
  }

  async function* exportUser(account: Account, input: UserQuery, options: CallOptions) {
    const user = parseObject(input, userFields)
    await getNamedProject(storage, account, user.project_id, 'project_id')
    yield JSON.stringify({ ...user, exported_at: formatInstant(now()) }).slice(0, -1)
    const write = auditedWrite(context, account, 'users.export', subjectOf(user), options)
    await storage.insertAudit(write)
    yield* formatLists({
      purchases: purchasesOf(account, user),
      revocations: revocationsOf(user),
      audit_entries: entriesAbout(account, user),
    })
  }

  return {
    async *export(account, input, options = {}) {
      assertAccount(account, 'users')
      yield* longCalls.each(account.account_id, exportUser(account, input, options))
    },

    async erase(account, input, options = {}) {
      assertAccount(account, 'users')
      const { onProgress, signal, ...callOptions } = options
      const { delete: deletes, ...user } = parseObject(input, erasureFields)
      const { account_id } = account
      await getNamedProject(storage, account, user.project_id, 'project_id')
      const about = { ...subjectOf(user), data: { delete: deletes } }
      const audited = auditedWrite(context, account, 'users.erase', about, callOptions)
      const authorized = { authority: authorityOf(account, ['users']) }
      let found = await storage.pseudonymizeWatermark(user, audited)
      let erased = 0
      const onErased = (purchases: number) => {
        erased += purchases
        onProgress?.(erased)
      }
      const erasure = { user_id: user.user_id, deletes, ...authorized, onErased, signal }
      for await (const { store_id } of recordsOf(listStores(user.project_id))) {
        const store = { account_id, store_id }
        const attempt = () => storage.erasePurchases(store, createId('imp', now()), erasure)
        await afterImport(attempt, signal)
      }
      const pseudonymizeEntries = (page: Page) =>
        storage.pseudonymizeAudit(account_id, user, page, authorized)
      for await (const { changed } of pagesOf(pseudonymizeEntries)) found ||= changed > 0
      await storage.clearAnswers(user.project_id, authorized)
      await storage.emptyLog?.()
      return { pseudonym: pseudonymOf(user), purchases: erased, found: found || erased > 0 }
    },
  }
}

/** Yields the end of a JSON object: further members, which are lists with one record per line. */
async function* formatLists(lists: {
  readonly [name: string]: AsyncIterable<readonly object[]>
}): AsyncGenerator<string> {
  for (const [name, pages] of Object.entries(lists)) {
    yield `,\n${JSON.stringify(name)}: [`
    let separator = '\n'
    for await (const records of pages) {
      if (records.length === 0) continue
      yield separator + records.map((record) => JSON.stringify(record)).join(',\n')
      separator = ',\n'
    }
    yield ']'
  }
  yield '}\n'
}
