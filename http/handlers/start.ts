import type { Call, Result } from '../route.ts'
import { readVersion } from '../version.ts'

/** `GET /`: an index of what the server has. Redirects to the console if that is served. */
export async function start({ prefix, context }: Call<undefined, undefined>): Promise<Result> {
  // Without a prefix, the paths are relative: a proxy may have removed one.
  const at = (path: string) => (prefix === '' ? `.${path}` : prefix + path)
  const body = {
    name: 'tillkit',
    version: readVersion(),
    openapi: at('/openapi.json'),
    ...(context.docs && { docs: at('/docs') }),
    ...(context.console && { console: at('/console') }),
    health: at('/healthz'),
  }
  if (!context.console) return { body }
  return { body, status: 302, headers: { location: at('/console') } }
}
