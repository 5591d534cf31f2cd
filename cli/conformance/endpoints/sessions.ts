import { type Check, type Endpoint, expect, expectSuccess, type Tools } from '../checks.ts'
import { dateTime, jwt, type Shape, seconds, valueAt } from '../shape.ts'
import { endpoint } from '../standard.ts'
import type { World } from '../world.ts'

/** The fields of a session. */
export const SESSION = { token: jwt, expires_at: dateTime, expires_in_seconds: seconds }

const DEVICE = {
  device_id: 'device-1',
  platform: 'android',
  os_version: '15',
  app_version: '1.0.0',
}
const DEVICE_INFO = 'Resources: Device info'

/** The checks that `POST …/init` and `POST …/token` share. The answer has the session at `path`. */
export function sessionEndpoint(
  number: 2 | 3,
  answer: Shape,
  path: readonly string[],
  ownChecks: (tools: Tools) => readonly Check[] = () => [],
): Endpoint {
  return endpoint({
    number,
    answer,
    request: async ({ newSession }) => ({
      json: { ...newSession(), device_info: DEVICE, dlscheme: 'conformance' },
    }),
    required: ['user_id'],
    optional: ['device_info', 'dlscheme'],
    unusual: async (user_id, { newSession }) => ({ json: { ...newSession(), user_id } }),
    checks: (tools) => [
      opensBearerEndpoints(tools.check, number, ...path, 'token'),
      tools.check('returns two times that agree', 'Resources: Session', async (world) =>
        expectAgreement(world, number, path),
      ),
      ...['ios', 'android', 'web'].map((platform) =>
        tools.accepts(`the device platform ${platform}`, DEVICE_INFO, {
          device_info: { ...DEVICE, platform },
        }),
      ),
      tools.refuses('an unlisted device platform', DEVICE_INFO, {
        device_info: { ...DEVICE, platform: 'toaster' },
      }),
      tools.refuses('a number as device_id', DEVICE_INFO, {
        device_info: { ...DEVICE, device_id: 5 },
      }),
      ...ownChecks(tools),
    ],
    open: ({ accepts, refuses }) => [
      accepts('the public key in the header alone', ': public_key', { public_key: undefined }),
      refuses('a public key that differs from the header', ': public_key', {
        public_key: 'another-key',
      }),
    ],
  })
}

const TOLERANCE_MS = 60_000

/** Expects `expires_at` to be `expires_in_seconds` after the `Date` of the answer. */
async function expectAgreement(
  { call, newSession }: World,
  number: 2 | 3,
  path: readonly string[],
): Promise<void> {
  const answer = await call(number, { json: newSession() })
  const at = Date.parse(String(valueAt(answer.body, ...path, 'expires_at')))
  const left = Number(valueAt(answer.body, ...path, 'expires_in_seconds')) * 1000
  const now = Date.parse(answer.headers.get('date') ?? '') || Date.now()
  const difference = Math.abs(at - now - left)
  // A missing field or a wrong type gives NaN, which is accepted here: another check reports it.
  const isNear = Number.isNaN(difference) || difference <= TOLERANCE_MS
  expect(isNear, 'expires_at and expires_in_seconds within 60 s', answer)
}

/** Checks that an endpoint for bearer tokens accepts the token in an answer. */
export function opensBearerEndpoints(
  check: Tools['check'],
  number: 1 | 2 | 3,
  ...path: readonly string[]
): Check {
  const title = 'returns a token that endpoint 5 accepts'
  return check(title, 'Authentication: rule 2', async ({ call, newSession, store }) => {
    const query = `?store_id=${await store()}`
    const answer = await call(number, number === 1 ? {} : { json: newSession() })
    const token = valueAt(answer.body, ...path)
    // Another check reports a missing token.
    if (typeof token !== 'string') return
    expectSuccess(await call(5, { query, credential: { value: token, shown: '$TOKEN' } }))
  })
}
