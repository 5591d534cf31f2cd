/** The error code and the invalid fields of an action that the model refuses. */
export class Refusal extends Error {
  readonly code: string
  readonly at: readonly (string | number)[]

  constructor(code: string, ...at: (string | number)[]) {
    super(code)
    this.code = code
    this.at = at
  }
}
