import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type ImportResult, type Store, TillError } from '../../client/manage.ts'
import { PRESET_TITLES } from '../../lib/domain/preset.ts'
import { useAction } from '../data.ts'
import { formatBytes, formatCount } from '../format.ts'
import { useDropped } from '../parts/dropped.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { Filters, type Values } from '../parts/form.tsx'
import { Failure, Loading, Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { BadRows, isBadFile } from './import-bad-rows.tsx'
import { ImportCounts } from './import-counts.tsx'
import { FileChoice } from './import-file.tsx'
import { Imports } from './imports.tsx'

export function Import() {
  return (
    <Page
      title="Import purchases"
      lead="All rows of a CSV file are stored, or none. The same file twice changes nothing."
    >
      <WithStore>{(store) => <ImportInto key={store.store_id} store={store} />}</WithStore>
    </Page>
  )
}

const PRESETS = [['', 'Recognize it by the header'] as const, ...Object.entries(PRESET_TITLES)]

const SETTINGS: readonly FieldInfo[] = [
  { label: 'Format', name: 'preset', options: PRESETS },
  {
    ...{ label: 'Prices are in major units', name: 'isMajor', kind: 'check' },
    hint: '4.99 instead of 499',
  },
  {
    ...{ label: 'Refunds only', name: 'refundsOnly', kind: 'check' },
    hint: 'Only advances the statuses of stored purchases, and compares only the ids',
  },
]

/** The files that say how to read a file of purchases. */
interface Helpers {
  readonly skus?: File
  readonly layout?: File
}

/** The request under way or the last one, and its result. */
interface Progress {
  readonly step: 'check' | 'import'
  /** The bytes of the file that are sent. */
  readonly sent: number
  readonly checked?: ImportResult
  readonly done?: ImportResult
  /** Whether the server may have stored the rows although no answer says so. */
  readonly isUnknown?: boolean
}

const NOTHING: Progress = { step: 'check', sent: 0 }

function ImportInto({ store: { store_id } }: { readonly store: Store }) {
  const client = useClient()
  const [file, setFile] = useState<File>()
  const [settings, setSettings] = useState<Values>({})
  const [helpers, setHelpers] = useState<Helpers>({})
  const [progress, setProgress] = useState(NOTHING)
  const [round, setRound] = useState(0)
  const lookAgain = () => setRound((round) => round + 1)
  const lastCheck = useRef<ImportResult>(undefined)
  const controller = useRef<AbortController>(undefined)

  const send = useAction(async (file: File, step: Progress['step']) => {
    // Forgets the check: an import that is stopped or lost may be stored.
    setProgress({ step, sent: 0 })
    controller.current = new AbortController()
    const { preset, isMajor, refundsOnly } = settings
    const sending = client.imports.create(store_id, file, {
      ...(preset && { preset }),
      ...(isMajor && { priceUnit: 'major' as const }),
      ...(refundsOnly && { refundsOnly: true }),
      ...(helpers.skus && { skus: await helpers.skus.text() }),
      ...(helpers.layout && { layout: parseLayout(await helpers.layout.text()) }),
      ...{ dryRun: step === 'check', signal: controller.current.signal },
      onProgress: ({ bytes }) => setProgress({ step, sent: bytes }),
    })
    if (step === 'check') {
      lastCheck.current = await sending
      return setProgress({ ...NOTHING, checked: lastCheck.current })
    }
    try {
      setProgress({ step, sent: file.size, done: await sending })
    } catch (error) {
      setProgress({ step, sent: 0, isUnknown: isLost(error) })
      throw error
    } finally {
      lookAgain()
    }
  })
  const choose = (file: File | undefined) => {
    send.clear()
    setProgress(NOTHING)
    setFile(file)
  }
  useDropped((file) => send.isRunning || choose(file))
  // Checks a file as soon as it is chosen, and again with other settings. A layout effect, because
  // the form is locked from this moment on.
  useLayoutEffect(() => {
    if (file) send.run(file, 'check')
  }, [file, settings, helpers])
  const { step, sent, checked, done, isUnknown } = progress
  const { isRunning, error } = send
  const result = checked ?? done
  useWarningBeforeClosing(isRunning && step === 'import')

  return (
    <>
      <Section title="1. Choose a file">
        <FileChoice file={file} onChoose={choose} isDisabled={isRunning} />
        <details>
          <summary>Settings for other formats</summary>
          <fieldset disabled={isRunning}>
            <Filters fields={SETTINGS} values={settings} onChange={setSettings} />
            <FileChoice
              {...{ title: 'SKU map', file: helpers.skus, isDisabled: isRunning }}
              onChoose={(skus) => setHelpers({ ...helpers, skus })}
            />
            <FileChoice
              {...{ title: 'Layout', type: 'JSON', file: helpers.layout, isDisabled: isRunning }}
              onChoose={(layout) => setHelpers({ ...helpers, layout })}
            />
            {(helpers.skus || helpers.layout) && (
              <div class="actions">
                <button type="button" onClick={() => setHelpers({})}>
                  Without these files
                </button>
              </div>
            )}
          </fieldset>
        </details>
      </Section>
      {file && (
        <Section title="2. Check it, then import it">
          {isRunning && (
            <>
              <Loading what={describe(step, sent, file.size)} />
              <progress
                aria-label={step === 'check' ? 'Check' : 'Import'}
                {...(sent < file.size && { value: sent, max: file.size })}
              />
              <button type="button" onClick={() => controller.current?.abort()}>
                Stop
              </button>
            </>
          )}
          {isBadFile(error) ? (
            <BadRows {...{ error, file }} />
          ) : (
            <Failure error={error} onRetry={() => send.run(file, step)} />
          )}
          {isUnknown && (
            <Notice tone="warning" title="It is not known whether the rows were stored">
              <p>
                If they were, the list below has the import. The server stores all rows or none, and
                skips those that it has: trying again is safe.
              </p>
              <button type="button" onClick={lookAgain}>
                Look again
              </button>
            </Notice>
          )}
          {!isRunning && !result && error === undefined && (
            <button type="button" onClick={() => send.run(file, 'check')}>
              Check the file
            </button>
          )}
          {checked && (
            <Notice tone="good" title={`No mistake in ${formatCount(checked.rows)} rows`}>
              <p>Nothing is stored yet.</p>
            </Notice>
          )}
          {done && (
            <Notice tone="good" title={`Imported ${formatCount(done.added)} new purchases`}>
              <p>
                The import is <code>{done.import_id}</code>. It can be undone below.
              </p>
            </Notice>
          )}
          {done && isOther(done, lastCheck.current) && (
            <Notice tone="warning" title="These are not the rows that were checked">
              <p>The file has changed since the check. Compare the counts, or undo the import.</p>
            </Notice>
          )}
          {result && <ImportCounts result={result} />}
          {result && (
            <div class="actions">
              {checked && (
                <button type="button" class="primary" onClick={() => send.run(file, 'import')}>
                  Import {formatCount(checked.rows)} rows into {store_id}
                </button>
              )}
              <button type="button" onClick={() => choose(undefined)}>
                Choose another file
              </button>
            </div>
          )}
        </Section>
      )}
      <Imports {...{ store_id, round }} onUndone={lookAgain} />
    </>
  )
}

function parseLayout(text: string): object {
  try {
    return JSON.parse(text)
  } catch {
    throw new TillError('invalid_request', 'The layout is not JSON')
  }
}

function describe(step: Progress['step'], sent: number, size: number): string {
  if (sent < size) return `Sending ${formatBytes(sent)} of ${formatBytes(size)}`
  const isCheck = step === 'check'
  return isCheck ? 'The server checks the rows, and stores nothing' : 'The server stores the rows'
}

function isLost(error: unknown): boolean {
  return !(error instanceof TillError) || error.status === 0 || error.status >= 500
}

function isOther(done: ImportResult, checked: ImportResult | undefined): boolean {
  const facts = (result?: ImportResult) => JSON.stringify([result?.rows, result?.totals])
  return facts(done) !== facts(checked)
}

/** The browser asks before it closes the tab. */
function useWarningBeforeClosing(isNeeded: boolean) {
  useEffect(() => {
    if (!isNeeded) return
    const warn = (event: Event) => event.preventDefault()
    addEventListener('beforeunload', warn)
    return () => removeEventListener('beforeunload', warn)
  }, [isNeeded])
}
