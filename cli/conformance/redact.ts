/** The secrets of a run, each with the shell variable that stands for it. */
export type Secrets = ReadonlyMap<string, string>

const JWT = /\beyJ[\w-]+(\.[\w-]*){2,4}/g

/** Replaces all secrets and tokens in a text by shell variables. */
export function redact(text: string, secrets: Secrets): string {
  let redacted = text.replace(JWT, '$TOKEN')
  for (const [secret, name] of secrets) redacted = redacted.replaceAll(secret, () => name)
  return redacted
}

/** Replaces secrets in a shell command, in which single quotes enclose each secret. */
export function redactCommand(command: string, secrets: Secrets): string {
  const quoted = [...secrets].map(([secret, name]) => [secret, `'"${name}"'`] as const)
  return redact(command, new Map(quoted))
}
