import { CREDENTIALS, type EndpointNumber, ROUTES } from './routes.ts'

/** A credential in a request, and the text that stands for it in reports. */
export interface Credential {
  readonly value: string
  readonly shown: string
}

/** The parts of a request that differ between requests to one endpoint. */
export interface Call {
  /** The item id in the path of `GET /items/{item_id}`. */
  readonly item_id?: string
  /** The query string, such as `?store_id=main`. */
  readonly query?: string
  readonly json?: unknown
  /** A body that is sent as JSON without being valid JSON. */
  readonly text?: string
  /** The parts of a multipart form. `file` is sent as a file. */
  readonly form?: { readonly [part: string]: string }
  /** Replaces the valid credential; null sends none. */
  readonly credential?: Credential | null
}

const MAX_BODY = 2_000

/** Formats a request as a curl command. The credential appears as a shell variable. */
export function formatCurl(endpoint: EndpointNumber, url: string, call: Call): string {
  const { method, credential } = ROUTES[endpoint]
  const { header, prefix, shown } = CREDENTIALS[credential]
  const { credential: sent, json, text, form } = call
  const body = json === undefined ? text : JSON.stringify(json)
  const { file, ...fields } = form ?? {}
  const parts = [
    `curl -s -X ${method} ${quote(url)}`,
    ...(sent === null ? [] : [`-H "${header}: ${prefix}${sent?.shown ?? shown}"`]),
    ...(form !== undefined || method === 'GET' ? [] : [`-H 'content-type: application/json'`]),
    ...(body === undefined ? [] : [`--data-binary ${quote(cut(body))}`]),
    ...Object.entries(fields).map(([name, value]) => `-F ${quote(`${name}=${value}`)}`),
    ...(file === undefined ? [] : [`-F 'file=@-;filename=purchases.csv;type=text/csv'`]),
  ]
  const input = file === undefined ? '' : `printf ${quote(file.replaceAll('\n', '\\n'))} |\n`
  return input + parts.join(' \\\n  ')
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function cut(text: string): string {
  return text.length <= MAX_BODY ? text : `${text.slice(0, MAX_BODY)}…`
}
