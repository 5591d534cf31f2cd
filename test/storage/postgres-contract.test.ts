import { openPostgres, startPostgres } from '../support/postgres.ts'
import { describeStorage } from './contract.ts'

const server = await startPostgres()

describeStorage('the PostgreSQL storage', async (t) => {
  return openPostgres(t, await server.createSchema(t))
})
