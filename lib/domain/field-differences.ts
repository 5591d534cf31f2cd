import { isSameJson, type JsonObject } from './json.ts'

/** The old and new values of fields. `from` is missing if the old value is left out. */
export interface Differences {
  readonly [field: string]: { readonly from?: unknown; readonly to: unknown }
}

/** The fields of `after` that differ from `before`. */
export function differences(before: object, after: object): Differences {
  const found: Record<string, Differences[string]> = {}
  for (const [name, to] of Object.entries(after)) {
    const from = (before as JsonObject)[name]
    if (!isSameJson(from, to)) found[name] = { from, to }
  }
  return found
}

/** Compares two configurations key by key. Like `differences`, but shows no secret. */
export function differencesIn(
  field: string,
  before: JsonObject,
  after: JsonObject,
  sent: JsonObject | undefined,
  secrets: readonly string[],
): Differences {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  // A secret that was only encrypted again counts as unchanged.
  const isSame = (name: string) =>
    isSameJson(before[name], after[name]) ||
    (secrets.includes(name) && [undefined, before[name]].includes(sent?.[name]))
  const shown = (config: JsonObject, name: string) =>
    secrets.includes(name) && config[name] !== undefined ? '(secret)' : config[name]
  const changed = [...names].filter((name) => !isSame(name))
  return Object.fromEntries(
    changed.map((name) => [
      `${field}.${name}`,
      { from: shown(before, name), to: shown(after, name) },
    ]),
  )
}
