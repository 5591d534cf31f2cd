export const JSON_TYPE = { 'content-type': 'application/json' }

export interface Message {
  readonly method: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: string
}

export interface Answer {
  readonly status: number
  readonly text: string
  header(name: string): string | null
}

/** Sends a message once. Rejects if there is no answer. */
export type Transport = (url: string, message: Message, signal: AbortSignal) => Promise<Answer>

/** A path with the fields of a query that are given. */
export function withQuery(path: string, query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length > 0 ? `${path}?${new URLSearchParams(given)}` : path
}
