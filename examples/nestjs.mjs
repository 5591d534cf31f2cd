// NestJS: tillkit below /shop, before Nest's body parsers.
// npm install @nestjs/core @nestjs/common @nestjs/platform-express reflect-metadata rxjs compression
// node nestjs.mjs
import 'reflect-metadata'
import { Body, Controller, Get, HttpCode, Module, Post } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import compression from 'compression'
import { createTill, openSqliteStorage } from 'tillkit'
import { createHandler } from 'tillkit/http'

class AppController {
  welcome() {
    return 'Welcome'
  }
  echo(body) {
    return body
  }
}
class AppModule {}
// In TypeScript, these are decorators: @Get() welcome() { … }
const { prototype } = AppController
const of = (name) => Object.getOwnPropertyDescriptor(prototype, name)
Get()(prototype, 'welcome', of('welcome'))
Post('echo')(prototype, 'echo', of('echo'))
HttpCode(200)(prototype, 'echo', of('echo'))
Body()(prototype, 'echo', 0)
Controller()(AppController)
Module({ controllers: [AppController] })(AppModule)

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const app = await NestFactory.create(AppModule, { logger: ['error'] })
app.use(compression())
app.use('/shop', createHandler(till))
await app.listen(process.env.PORT ?? 3000)
