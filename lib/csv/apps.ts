import type { PassedOver } from '../domain/import.ts'
import { type ErrorDetail, excerpt } from '../errors.ts'
import { copyText } from './text.ts'

/** The bundle id of a store's app, and the record that has it. */
export interface AppChoice {
  readonly bundle_id: string
  readonly from: 'store' | 'project'
}

/** The maximum number of apps that are counted by name. */
const MAX_APPS = 1_000
const NAMED_APPS = 10

const OTHER_APP: PassedOver = { reason: 'other_app' }

/**
 * Finds the rows of other apps: a vendor's file may have the sales of all apps of a developer.
 * Without a known app, a file of several apps is refused.
 */
export function createAppFilter(own: AppChoice | undefined) {
  const others = new Map<string, PassedOver>()
  let hasOwn = false

  /** Returns the same object for each row of an app. */
  const otherApp = (app: string): PassedOver => {
    const known = others.get(app)
    if (known || others.size >= MAX_APPS) return known ?? OTHER_APP
    const name = copyText(excerpt(app))
    const added: PassedOver = { reason: 'other_app', app: name }
    others.set(copyText(app), added)
    return added
  }

  const nameApps = (): string => {
    const names = [...others.values()].map(({ app = '' }) => app).sort()
    const more = names.length > NAMED_APPS ? ` and ${names.length - NAMED_APPS} more` : ''
    return names.slice(0, NAMED_APPS).join(', ') + more
  }

  return {
    /** Returns the reason for passing over a row. A row without an app counts as this app's row. */
    check(app: string): PassedOver | undefined {
      if (app === '' || app === own?.bundle_id) {
        hasOwn = true
        return undefined
      }
      const other = otherApp(app)
      return own ? other : undefined
    },
    /** Returns the mistake of a file without any row of this app, or with rows of several apps. */
    end(): ErrorDetail | undefined {
      const mistake = (message: string) => ({ line: 1, code: 'other_app', message })
      if (own && !hasOwn && others.size > 0) {
        const place = `the bundle_id of the ${own.from}`
        return mistake(
          `The file has no row of ${own.bundle_id}, ${place}. Its apps are: ${nameApps()}`,
        )
      }
      if (own || others.size < 2) return undefined
      return mistake(
        `The file has the rows of several apps: ${nameApps()}. Set bundle_id in the store_config`,
      )
    },
  }
}
