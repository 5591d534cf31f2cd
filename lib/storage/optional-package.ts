/**
 * Imports a package that the program may not have installed. The comments and the variable keep
 * bundlers from looking for it.
 */
export function importOptional<Module>(name: string): Promise<Module> {
  return import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name)
}
