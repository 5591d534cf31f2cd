// Express 5: tillkit below /shop, before the body parsers of the application.
// npm install express compression; node express.mjs
import compression from 'compression'
import express from 'express'
import { createTill, openSqliteStorage } from 'tillkit'
import { createHandler } from 'tillkit/http'

const till = createTill({ storage: await openSqliteStorage('shop.db') })
const app = express()
app.use(compression())
app.use('/shop', createHandler(till))
app.use(express.json())
app.get('/', (_request, response) => {
  response.send('Welcome')
})
app.post('/echo', (request, response) => {
  response.json(request.body)
})
app.listen(process.env.PORT ?? 3000)
