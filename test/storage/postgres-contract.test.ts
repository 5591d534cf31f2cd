import { startPostgres } from '../support/postgres.ts'
import { describeStorage } from './contract.ts'

const server = await startPostgres()

describeStorage('the PostgreSQL storage', server.openEmpty)
