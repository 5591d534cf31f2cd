import type { RequestBody } from './body.ts'
import type { Exchange } from './exchange.ts'
import { FetchBody } from './fetch-body.ts'
import type { AnswerHeaders, RequestHeaders } from './headers.ts'
import type { Target } from './target.ts'

/** A fetch `Request`, and the headers that are set before its `Response` is created. */
export class FetchExchange implements Exchange {
  readonly request: Request
  readonly answer = new EarlyHeaders()
  readonly method: string
  readonly target: Target
  readonly headers: RequestHeaders
  readonly request_id: string
  readonly client: string
  route: Exchange['route'] = undefined
  account_id: string | undefined = undefined
  project_id: string | undefined = undefined
  body: FetchBody | undefined = undefined

  constructor(
    request: Request,
    target: Target,
    headers: RequestHeaders,
    request_id: string,
    client: string,
  ) {
    this.request = request
    this.method = request.method
    this.target = target
    this.headers = headers
    this.request_id = request_id
    this.client = client
  }

  header(name: string): string | undefined {
    return this.request.headers.get(name) ?? undefined
  }

  openBody(): RequestBody {
    this.body = new FetchBody(this.request)
    return this.body
  }
}

class EarlyHeaders implements AnswerHeaders {
  readonly list: Headers = new Headers()

  getHeader(name: string): string | undefined {
    return this.list.get(name) ?? undefined
  }

  setHeader(name: string, value: string): void {
    this.list.set(name, value)
  }
}
