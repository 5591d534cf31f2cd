export { createHandler, type HandlerOptions, type LogEntry, type RequestHandler } from './handle.ts'
export type { Limits } from './limits.ts'
export { type RunningServer, type ServeOptions, serve } from './server.ts'
