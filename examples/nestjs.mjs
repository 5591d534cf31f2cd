// NestJS: the main file of an application. tillkit is below /shop, before Nest's body parsers.
import { NestFactory } from '@nestjs/core'
import compression from 'compression'
import { createHandler } from 'tillkit/http'

export async function createApp(till, AppModule) {
  const app = await NestFactory.create(AppModule, { logger: ['error'] })
  app.use(compression())
  app.use('/shop', createHandler(till))
  return app
}
// const app = await createApp(till, AppModule)
// await app.listen(3000)
