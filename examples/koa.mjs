// Koa 3: tillkit below /shop, before the body parser of the application.
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { createHandler } from 'tillkit/http'

export function createApp(till) {
  const app = new Koa()
  const handler = createHandler(till, { basePath: '/shop' })
  app.use((context, next) => {
    if (!/^\/shop(\/|$)/.test(context.path)) return next()
    context.respond = false // tillkit answers
    handler(context.req, context.res)
  })
  app.use(bodyParser())
  app.use((context) => {
    context.body = context.path === '/echo' ? context.request.body : 'Welcome'
  })
  return app
}
// createApp(till).listen(3000)
