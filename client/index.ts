export { type Client, createClient } from './client.ts'
export { type ErrorDetail, TillError } from './errors.ts'
export type { CallOptions, ClientOptions, CreateOptions } from './options.ts'
export type * from './types.ts'
