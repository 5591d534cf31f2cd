import { useState } from 'preact/hooks'
import { CheckField, TextField } from './fields.tsx'

/** A configuration as it is typed. Secrets can be set and removed, but never read. */
export interface ConfigDraft {
  readonly json: string
  /** The names of the stored secrets. */
  readonly set: readonly string[]
  readonly secrets: {
    readonly [name: string]: { readonly value: string; readonly isRemoved: boolean }
  }
}

/** `set` has the names of the stored secrets. */
export function configDraft(config: object, set: readonly string[] = []): ConfigDraft {
  return { json: JSON.stringify(config, null, 2), secrets: {}, set }
}

/** The configuration to send; undefined if the text is not a JSON object. */
export function parseConfig({
  json,
  secrets,
}: ConfigDraft): { [key: string]: unknown } | undefined {
  const config = parseJson(json)
  if (!config) return undefined
  for (const [name, { value, isRemoved }] of Object.entries(secrets)) {
    if (isRemoved) config[name] = null
    else if (value !== '') config[name] = value
  }
  return config
}

/** The fields that differ from what was loaded, so that a save keeps what others changed. */
export function changesOf<T extends object>(base: object, fields: T): Partial<T> {
  const before: { readonly [name: string]: unknown } = { ...base }
  const changed = Object.entries(fields).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  )
  return Object.fromEntries(changed) as Partial<T>
}

export function parseJson(text: string): { [key: string]: unknown } | undefined {
  try {
    const value = JSON.parse(text || '{}')
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}

interface ConfigFieldsProps {
  /** The field of the configuration in the API: `config` or `store_config`. */
  readonly name: string
  readonly draft: ConfigDraft
  readonly onChange: (draft: ConfigDraft) => void
  /** The secrets that can be set. */
  readonly secretNames: readonly string[]
  readonly mistake: string | undefined
}

export function ConfigFields(props: ConfigFieldsProps) {
  const { name, draft, onChange, secretNames, mistake } = props
  return (
    <>
      <TextField
        {...{ label: 'Configuration', name, isLong: true, value: draft.json, mistake }}
        onChange={(json) => onChange({ ...draft, json })}
        hint="A JSON object without secrets, such as currency and webhook_url."
      />
      {secretNames.map((secret) => (
        <Secret
          key={secret}
          name={`${name}.${secret}`}
          {...{ secret, isSet: draft.set.includes(secret) }}
          value={draft.secrets[secret] ?? { value: '', isRemoved: false }}
          onChange={(value) =>
            onChange({ ...draft, secrets: { ...draft.secrets, [secret]: value } })
          }
        />
      ))}
    </>
  )
}

interface SecretProps {
  readonly name: string
  readonly secret: string
  readonly isSet: boolean
  readonly value: ConfigDraft['secrets'][string]
  readonly onChange: (value: ConfigDraft['secrets'][string]) => void
}

function Secret({ name, secret, isSet, value: { value, isRemoved }, onChange }: SecretProps) {
  const [isOpen, setOpen] = useState(!isSet)
  if (!isOpen) {
    return (
      <div class="field">
        <span class="label">{secret}</span>
        <span>
          Set, and never shown.{' '}
          <button type="button" onClick={() => setOpen(true)} aria-label={`Change ${secret}`}>
            Change
          </button>
        </span>
      </div>
    )
  }
  return (
    <>
      <TextField
        {...{ label: secret, name, type: 'password', value }}
        onChange={(value) => onChange({ value, isRemoved })}
        hint={isSet ? 'Empty keeps the stored one.' : 'Not set.'}
      />
      {isSet && (
        <CheckField
          label={`Remove ${secret}`}
          isChecked={isRemoved}
          onChange={(isRemoved) => onChange({ value, isRemoved })}
        />
      )}
    </>
  )
}
