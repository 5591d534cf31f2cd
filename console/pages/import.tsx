import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type ImportFile, type ImportResult, type Store, TillError } from '../../client/manage.ts'
import { PRESET_TITLES } from '../../lib/domain/preset.ts'
import { reloadAll, useAction } from '../data.ts'
import { formatCount } from '../format.ts'
import { useDropped } from '../parts/dropped.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { Fields, parseJson, type Values } from '../parts/form.tsx'
import { detailsOf, Failure, Loading, Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { setUnsaved } from '../place.ts'
import { client, remembered } from '../session.ts'
import { BadRows, isBadFile } from './import-bad-rows.tsx'
import { ImportCounts } from './import-counts.tsx'
import { FileChoice } from './import-file.tsx'
import { UnknownSkus } from './import-skus.tsx'
import { Imports } from './imports.tsx'

const PRESETS = [['', 'Recognize it by the header'] as const, ...Object.entries(PRESET_TITLES)]

const SETTINGS: readonly FieldInfo[] = [
  { label: 'Format', name: 'preset', options: PRESETS },
  {
    label: 'Prices are in major units',
    name: 'isMajor',
    kind: 'check',
    hint: '4.99 instead of 499',
  },
  {
    label: 'Refunds only',
    name: 'refundsOnly',
    kind: 'check',
    hint: 'Only advances the statuses of stored purchases, and compares only the ids',
  },
]

const CSV = '.csv,.tsv,.txt,text/csv'

/** The files that say how to read a file of purchases. */
interface Helpers {
  /** The text of a SKU map that was made on this page. */
  readonly map?: string
  readonly skus?: File
  readonly layout?: File | undefined
}

/** The request under way or the last one. */
interface Progress {
  readonly step: 'check' | 'import'
  /** The bytes of the file that are sent. */
  readonly sent: number
  /** The results of the latest check, and of an import after it. */
  readonly checked?: ImportResult | undefined
  readonly done?: ImportResult
}

export function Import({ store }: { readonly store: Store }) {
  const { store_id } = store
  const [file, setFile] = useState<File>()
  const [settings, setSettings] = useState<Values>({})
  const [helpers, setHelpers] = useState<Helpers>(() => {
    const map = remembered.read(store_id)
    return map ? { map, skus: skuFile(map) } : {}
  })
  const [progress, setProgress] = useState<Progress>({ step: 'check', sent: 0 })
  const controller = useRef<AbortController>(undefined)

  const send = useAction(async (file: File, step: Progress['step']) => {
    const checked = step === 'import' ? progress.checked : undefined
    setProgress({ step, sent: 0, checked })
    controller.current = new AbortController()
    const layout = helpers.layout && parseJson(await helpers.layout.text())
    if (helpers.layout && !layout) throw new Error('The layout is not a JSON object')
    const input: ImportFile = {
      store_id,
      file,
      preset: settings.preset || undefined,
      priceUnit: settings.isMajor ? 'major' : undefined,
      refundsOnly: settings.refundsOnly === 'true',
      skus: await helpers.skus?.text(),
      layout,
      dryRun: step === 'check',
      onProgress: ({ bytes }) => setProgress({ step, sent: bytes, checked }),
    }
    const { signal } = controller.current
    const sending = client.imports.create(input, { signal })
    if (step === 'import') sending.catch(reloadAll) // the rows may be stored all the same
    const result = await sending
    const results = step === 'check' ? { checked: result } : { checked, done: result }
    setProgress({ step, sent: file.size, ...results })
  })
  useDropped((file) => send.isRunning || setFile(file))
  // Checks a file as soon as it is chosen, and again with other settings. A layout effect, because
  // the form is locked from this moment on.
  useLayoutEffect(() => {
    if (file) send.run(file, 'check')
  }, [file, settings, helpers])
  const isImporting = send.isRunning && progress.step === 'import'
  useEffect(() => setUnsaved(document.body, isImporting), [isImporting])

  return (
    <Page
      title="Import purchases"
      lead="All rows of a CSV file are stored, or none. The same file twice changes nothing."
    >
      <Section title="1. Choose a file">
        <fieldset disabled={send.isRunning}>
          <FileChoice
            prompt="Drop a CSV file here, or choose one"
            accept={CSV}
            file={file}
            onChoose={setFile}
          />
          <details>
            <summary>Settings for other formats</summary>
            <Fields fields={SETTINGS} values={settings} onChange={setSettings} />
            <FileChoice
              title="SKU map"
              prompt="choose a CSV file"
              accept={CSV}
              file={helpers.skus}
              onChoose={(skus) => setHelpers({ layout: helpers.layout, skus })}
            />
            <FileChoice
              title="Layout"
              prompt="choose a JSON file"
              accept=".json"
              file={helpers.layout}
              onChoose={(layout) => setHelpers({ ...helpers, layout })}
            />
            {(helpers.skus || helpers.layout) && (
              <button type="button" onClick={() => setHelpers({})}>
                Without these files
              </button>
            )}
          </details>
        </fieldset>
      </Section>
      {file && (
        <Section title="2. Check it, then import it">
          {send.isRunning ? (
            <Sending progress={progress} file={file} onStop={() => controller.current?.abort()} />
          ) : (
            <Outcome
              progress={progress}
              file={file}
              store_id={store_id}
              error={send.error}
              run={send.run}
            >
              <UnknownSkus
                store={store}
                details={detailsOf(send.error)}
                map={helpers.map ?? ''}
                onMap={(map) => setHelpers({ ...helpers, map, skus: skuFile(map) })}
              />
            </Outcome>
          )}
          <button type="button" disabled={send.isRunning} onClick={() => setFile(undefined)}>
            Choose another file
          </button>
        </Section>
      )}
      <Imports store_id={store_id} />
    </Page>
  )
}

interface SendingProps {
  readonly progress: Progress
  readonly file: File
  readonly onStop: () => void
}

function Sending({ progress: { step, sent }, file: { size }, onStop }: SendingProps) {
  const isCheck = step === 'check'
  const reading = isCheck ? 'The server checks the rows' : 'The server stores the rows'
  return (
    <>
      <Loading what={sent < size ? 'Sending the file' : reading} />
      <progress
        aria-label={isCheck ? 'Check' : 'Import'}
        {...(sent < size && { value: sent, max: size })}
      />
      <button type="button" onClick={onStop}>
        Stop
      </button>
    </>
  )
}

interface OutcomeProps {
  readonly progress: Progress
  readonly file: File
  readonly store_id: string
  readonly error: unknown
  readonly run: (file: File, step: Progress['step']) => void
  /** Shown above the mistakes of a file. */
  readonly children: ComponentChildren
}

/** The result of a check or an import, and the next step. */
function Outcome({ progress, file, store_id, error, run, children }: OutcomeProps) {
  const { step, checked, done } = progress
  if (isBadFile(error)) {
    return (
      <>
        {children}
        <BadRows error={error} file={file} />
      </>
    )
  }
  if (done) {
    return (
      <>
        <Notice tone="good" title={`Imported ${formatCount(done.added)} new purchases`}>
          <p>
            The import is <code>{done.import_id}</code>. It can be undone below.
          </p>
        </Notice>
        {isOther(done, checked) && (
          <Notice tone="warning" title="These are not the rows that were checked">
            <p>The file has changed since the check. Compare the counts, or undo the import.</p>
          </Notice>
        )}
        <ImportCounts result={done} />
      </>
    )
  }
  if (step === 'check' && checked) {
    return (
      <>
        <Notice tone="good" title={`No mistake in ${formatCount(checked.rows)} rows`}>
          <p>Nothing is stored yet.</p>
        </Notice>
        <ImportCounts result={checked} />
        <button type="button" class="primary" onClick={() => run(file, 'import')}>
          Import {formatCount(checked.rows)} rows into {store_id}
        </button>
      </>
    )
  }
  return (
    <>
      <Failure error={error} />
      {step === 'import' && isUnknown(error) && (
        <Notice tone="warning" title="It is not known whether the rows were stored">
          <p>
            If they were, the list below has the import. The server stores all rows or none, and
            skips those that it has: trying again is safe.
          </p>
        </Notice>
      )}
      <button type="button" onClick={() => run(file, step)}>
        Try again
      </button>
    </>
  )
}

function skuFile(map: string): File {
  return new File([map], 'skus.csv')
}

/** Whether the server may have stored the rows: it was stopped, or its answer is lost. */
function isUnknown(error: unknown): boolean {
  return !(error instanceof TillError) || error.status === 0 || error.status >= 500
}

function isOther(done: ImportResult, checked: ImportResult | undefined): boolean {
  const facts = (result?: ImportResult) => JSON.stringify([result?.rows, result?.totals])
  return facts(done) !== facts(checked)
}
