/** A parsed request target. Of a repeated query parameter, only the first value. */
export interface Target {
  readonly path: string
  readonly query: { readonly [name: string]: string }
}

/** Parses a request target. Not `new URL`, which throws for "//" and normalizes other targets. */
export function parseTarget(target: string): Target {
  const origin = target.startsWith('/') ? '' : originOf(target)
  const mark = target.indexOf('?', origin.length)
  if (mark < 0) return { path: target.slice(origin.length) || '/', query: noQuery }
  return {
    path: target.slice(origin.length, mark) || '/',
    query: parseQuery(target.slice(mark + 1)),
  }
}

const noQuery: Target['query'] = Object.freeze(Object.create(null))

// The origin of a target in absolute form (RFC 9112 section 3.2.2); '' if there is none.
function originOf(target: string): string {
  return /^https?:\/\/[^/?]*/i.exec(target)?.[0] ?? ''
}

/** Parses the query. Handles a single plain parameter itself: URLSearchParams takes 1.5 µs. */
function parseQuery(text: string): Target['query'] {
  const query: { [name: string]: string } = Object.create(null)
  const plain = /^([\w-]+)=([\w.-]*)$/.exec(text)
  if (plain) query[plain[1] as string] = plain[2] as string
  else for (const [name, value] of new URLSearchParams(text)) query[name] ??= value
  return query
}
