// Express 5: tillkit below /shop, before the body parsers of the application.
import compression from 'compression'
import express from 'express'
import { createHandler } from 'tillkit/http'

export function createApp(till) {
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
  return app
}
// createApp(till).listen(3000)
