// Koa 3: tillkit below /shop, before the body parser of the application.
// npm install koa koa-bodyparser; node koa.mjs
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import { createTill, openSqliteStorage } from 'tillkit'
import { createHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
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
app.listen(process.env.PORT ?? 3000)
