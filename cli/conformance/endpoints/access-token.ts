import { jwt, record, seconds } from '../shape.ts'
import { endpoint } from '../standard.ts'
import { opensBearerEndpoints } from './sessions.ts'

export const accessToken = endpoint({
  number: 1,
  answer: record({ access_token: jwt, ttl_seconds: seconds }),
  request: async () => ({}),
  unusual: async (text) => ({
    credential: { value: encodeURIComponent(text.toWellFormed()), shown: 'UNUSUAL_TEXT' },
  }),
  checks: ({ check }) => [opensBearerEndpoints(check, 1, 'access_token')],
})
