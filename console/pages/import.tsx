import { useEffect, useRef, useState } from 'preact/hooks'
import { type ImportResult, type Store, TillError } from '../../client/manage.ts'
import { useAction } from '../data.ts'
import { formatCount } from '../format.ts'
import { CheckField, SelectField } from '../parts/fields.tsx'
import { Failure, Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { WithStore } from '../scope.tsx'
import { useClient } from '../session.ts'
import { BadRows, isBadFile } from './import-bad-rows.tsx'
import { ImportCounts } from './import-counts.tsx'
import { FileChoice } from './import-file.tsx'
import { ImportProgress, type Step } from './import-progress.tsx'
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

const PRESETS = [
  ['', 'Recognize it by the header'],
  ['google-play', 'Google Play'],
  ['revenuecat', 'RevenueCat'],
  ['stripe', 'Stripe'],
  ['shopify', 'Shopify'],
] as const

function ImportInto({ store: { store_id } }: { readonly store: Store }) {
  const client = useClient()
  const [file, setFile] = useState<File>()
  const [preset, setPreset] = useState('')
  const [isMajor, setMajor] = useState(false)
  const [step, setStep] = useState<Step>('check')
  const [sent, setSent] = useState(0)
  const [checked, setChecked] = useState<ImportResult>()
  const [done, setDone] = useState<ImportResult>()
  const [round, setRound] = useState(0)
  const [isUnknown, setUnknown] = useState(false)
  const lookAgain = () => setRound((round) => round + 1)
  const lastCheck = useRef<ImportResult>(undefined)
  const controller = useRef<AbortController>(undefined)

  const send = useAction(async (file: File, step: Step) => {
    setStep(step)
    setChecked(undefined) // an import that is stopped or lost may be stored
    setSent(0)
    setUnknown(false)
    controller.current = new AbortController()
    const { signal } = controller.current
    const sending = client.imports.create(store_id, file, {
      ...(preset && { preset }),
      ...(isMajor && { priceUnit: 'major' as const }),
      ...{ dryRun: step === 'check', signal },
      onProgress: ({ bytes }) => setSent(bytes),
    })
    if (step === 'check') {
      lastCheck.current = await sending
      return setChecked(lastCheck.current)
    }
    try {
      setDone(await sending)
    } catch (error) {
      setUnknown(isLost(error))
      throw error
    } finally {
      lookAgain()
    }
  })
  const choose = (file: File | undefined) => {
    send.clear()
    setChecked(undefined)
    setDone(undefined)
    setUnknown(false)
    setFile(file)
  }
  // Checks a file as soon as it is chosen, and again with other settings.
  useEffect(() => {
    if (file) send.run(file, 'check')
  }, [file, preset, isMajor])
  useWarningBeforeClosing(send.isRunning && step === 'import')

  return (
    <>
      <Section title="1. Choose a file">
        <FileChoice file={file} onChoose={choose} isDisabled={send.isRunning} />
        <details>
          <summary>Settings for other formats</summary>
          <fieldset class="filters" disabled={send.isRunning}>
            <SelectField
              label="Format"
              name="preset"
              value={preset}
              onChange={setPreset}
              options={PRESETS}
            />
            <CheckField
              label="Prices are in major units"
              hint="4.99 instead of 499"
              isChecked={isMajor}
              onChange={setMajor}
            />
          </fieldset>
        </details>
      </Section>
      {file && (
        <Section title="2. Check it, then import it">
          {send.isRunning && (
            <ImportProgress {...{ step, sent, size: file.size }}>
              <button type="button" onClick={() => controller.current?.abort()}>
                Stop
              </button>
            </ImportProgress>
          )}
          {isBadFile(send.error) && <BadRows error={send.error} fileName={file.name} />}
          {!isBadFile(send.error) && (
            <Failure error={send.error} onRetry={() => send.run(file, step)} />
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
          {!send.isRunning && !checked && !done && send.error === undefined && (
            <button type="button" onClick={() => send.run(file, 'check')}>
              Check the file
            </button>
          )}
          {checked && !done && !send.isRunning && (
            <>
              <Notice
                tone="good"
                title={`The check found no mistake in ${formatCount(checked.rows)} rows`}
              >
                <p>Nothing is stored yet.</p>
              </Notice>
              <ImportCounts result={checked} />
              <div class="actions">
                <button type="button" class="primary" onClick={() => send.run(file, 'import')}>
                  Import {formatCount(checked.rows)} rows into {store_id}
                </button>
                <button type="button" onClick={() => choose(undefined)}>
                  Choose another file
                </button>
              </div>
            </>
          )}
          {done && (
            <>
              <Notice tone="good" title={`Imported ${formatCount(done.added)} new purchases`}>
                <p>
                  The import is <code>{done.import_id}</code>. It can be undone below.
                </p>
              </Notice>
              {isOther(done, lastCheck.current) && (
                <Notice tone="warning" title="These are not the rows that were checked">
                  <p>
                    The file has changed since the check. Compare the counts, or undo the import.
                  </p>
                </Notice>
              )}
              <ImportCounts result={done} />
              <div class="actions">
                <button type="button" onClick={() => choose(undefined)}>
                  Import another file
                </button>
              </div>
            </>
          )}
        </Section>
      )}
      <Imports store_id={store_id} round={round} />
    </>
  )
}

/** Whether the server may have stored the rows although no answer says so. */
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
