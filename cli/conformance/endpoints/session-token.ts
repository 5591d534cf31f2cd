import { record } from '../shape.ts'
import { SESSION, sessionEndpoint } from './sessions.ts'

export const sessionToken = sessionEndpoint(3, record(SESSION), [])
