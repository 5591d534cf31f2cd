import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { createOpenApi } from '../../../http/index.ts'

export interface Schema {
  readonly [keyword: string]: unknown
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
}

interface Media {
  readonly schema: Schema
  readonly example?: unknown
  readonly examples?: { readonly [name: string]: { readonly $ref: string } }
}

export interface Response {
  readonly headers: { readonly [name: string]: { readonly $ref: string } }
  readonly content?: { readonly [type: string]: Media }
}

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
  readonly schema: Schema
}

interface WrittenOperation {
  readonly operationId: string
  readonly security: readonly { readonly [scheme: string]: readonly string[] }[]
  readonly parameters: readonly (Parameter | { readonly $ref: string })[]
  readonly requestBody?: {
    readonly required: boolean
    readonly content: { readonly [type: string]: Media }
  }
  readonly responses: { readonly [status: string]: Response | { readonly $ref: string } }
}

/** An operation of the document, with its references resolved. */
export interface Operation {
  readonly id: string
  readonly method: string
  readonly path: string
  /** The name of its security scheme, if it has one. */
  readonly scheme: string | undefined
  /** The scopes that its credential needs. */
  readonly scopes: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly body: ({ readonly type: string; readonly isRequired: boolean } & Media) | undefined
  readonly responses: ReadonlyMap<string, Response>
}

interface Document {
  readonly paths: { readonly [path: string]: { readonly [method: string]: WrittenOperation } }
  readonly components: {
    readonly schemas: { readonly [name: string]: Schema }
    readonly headers: {
      readonly [name: string]: { readonly required?: boolean; readonly schema: Schema }
    }
    readonly examples: { readonly [code: string]: { readonly value: { readonly status: number } } }
  }
}

// Converted to JSON, as a client gets it.
export const document: Document = JSON.parse(JSON.stringify(createOpenApi({ manage: true })))

/** The target of a reference, or the value itself. */
export function resolve<T>(value: T | { readonly $ref: string }): T {
  if (typeof value !== 'object' || value === null || !('$ref' in value)) return value as T
  const names = value.$ref.replace('#/', '').split('/')
  return names.reduce(
    (node: unknown, name) => (node as Record<string, unknown>)[name],
    document,
  ) as T
}

export const operations: readonly Operation[] = Object.entries(document.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const { operationId, security, parameters, requestBody, responses } = operation
      const [body] = Object.entries(requestBody?.content ?? {})
      return {
        id: operationId,
        method: method.toUpperCase(),
        path,
        scheme: Object.keys(security[0] ?? {})[0],
        scopes: Object.values(security[0] ?? {})[0] ?? [],
        parameters: parameters.map((each) => resolve(each)),
        body: body && { type: body[0], isRequired: requestBody?.required === true, ...body[1] },
        responses: new Map(Object.entries(responses).map(([s, each]) => [s, resolve(each)])),
      }
    }),
)

const ajv = new Ajv2020({
  strict: false,
  formats: {
    uri: (text: string) => URL.canParse(text),
    date: /^\d{4}-\d\d-\d\d$/,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z$/,
  },
})
ajv.addSchema({ $id: 'all', components: { schemas: document.components.schemas } })
const compiled = new Map<string, ValidateFunction>()

/** The mistakes that JSON Schema finds in a value; undefined if there are none. */
export function mistakesOf(schema: Schema, value: unknown): string | undefined {
  // With a reference to the schema above, ajv compiles each part of the document only once.
  const text = JSON.stringify(schema).replaceAll('"#/components/', '"all#/components/')
  const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text))
  compiled.set(text, validate)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}
