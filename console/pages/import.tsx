import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type ImportFile, type ImportResult, type Store, TillError } from '../../client/manage.ts'
import { PRESET_TITLES } from '../../lib/domain/preset.ts'
import { reloadAll, useAction } from '../data.ts'
import { formatCount } from '../format.ts'
import { Button } from '../parts/button.tsx'
import { download } from '../parts/download.ts'
import { useDropped } from '../parts/dropped.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { Fields, type Values } from '../parts/form.tsx'
import { Failure, Loading, Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { setUnsaved } from '../place.ts'
import { client, remembered } from '../session.ts'
import { BadRows, isBadFile } from './import-bad-rows.tsx'
import { ImportCounts } from './import-counts.tsx'
import { FileChoice } from './import-file.tsx'
import { LayoutChoice } from './import-layout.tsx'
import { UnknownSkus } from './import-skus.tsx'
import { Imports } from './imports.tsx'

/** The format of a file whose columns are chosen on the page. */
const COLUMNS = 'columns'

const SETTINGS: readonly FieldInfo[] = [
  {
    label: 'Format',
    name: 'preset',
    options: [
      ['', 'Recognize it by the header'],
      ...Object.entries(PRESET_TITLES),
      [COLUMNS, 'Choose the columns'],
    ],
  },
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
  const [layout, setLayout] = useState<object>()
  const [map, setMap] = useState(() => remembered.read(store_id))
  const [progress, setProgress] = useState<Progress>({ step: 'check', sent: 0 })
  const controller = useRef<AbortController>(undefined)
  const { isMajor, refundsOnly } = settings
  const preset = settings.preset === COLUMNS ? '' : settings.preset

  const send = useAction(async (file: File, step: Progress['step']) => {
    const checked = step === 'import' ? progress.checked : undefined
    setProgress({ step, sent: 0, checked })
    controller.current = new AbortController()
    const format = {
      preset: preset || undefined,
      priceUnit: isMajor ? 'major' : undefined,
    } as const
    const input: ImportFile = {
      store_id,
      file,
      ...(layout ? { layout } : format),
      refundsOnly: refundsOnly === 'true',
      skus: map || undefined,
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
  const choose = (file: File | undefined) => {
    setFile(file)
    setLayout(undefined)
  }
  useDropped((file) => send.isRunning || choose(file))
  const isChosen = settings.preset === COLUMNS
  // Checks a file as soon as it is chosen, and again with other settings. A layout effect, because
  // the form is locked from this moment on.
  useLayoutEffect(() => {
    if (file && (layout || !isChosen)) send.run(file, 'check')
  }, [file, settings, layout, map])
  const isImporting = send.isRunning && progress.step === 'import'
  // A layout effect, because a person may leave as soon as the result is shown.
  useLayoutEffect(() => setUnsaved(document.body, isImporting), [isImporting])
  const changeMap = (map: string) => {
    remembered.write(store_id, map)
    setMap(map)
  }
  const bad = isBadFile(send.error) ? send.error : undefined
  const mistakes = bad?.details ?? []
  const skus = mistakes.filter(({ sku }) => sku)
  const isUnknown = !preset && mistakes.some(({ code }) => code === 'missing_column')

  return (
    <Page
      title="Import purchases"
      lead="All rows of a CSV file are stored, or none. The same file twice changes nothing."
    >
      <Section title="Choose a file">
        <fieldset disabled={send.isRunning}>
          <FileChoice prompt="Drop a CSV file here, or choose one" file={file} onChoose={choose} />
          <details>
            <summary>Settings for other formats</summary>
            <Fields fields={SETTINGS} values={settings} onChange={setSettings} />
            {map && (
              <div class="actions">
                <Button
                  label="Download the SKU map"
                  onClick={() => download('skus.csv', 'text/csv', map)}
                />
                <Button label="Forget the SKU map" onClick={() => changeMap('')} />
              </div>
            )}
          </details>
        </fieldset>
      </Section>
      {file && (isChosen || layout || isUnknown) && (
        <Section title="Say what the columns are">
          <LayoutChoice
            key={`${file.name} ${file.size} ${file.lastModified}`}
            store_id={store_id}
            file={file}
            onCheck={setLayout}
          />
        </Section>
      )}
      {file && (layout || !isChosen) && (
        <Section
          title="Check it, then import it"
          actions={
            <div class="actions">
              <Button
                label="Choose another file"
                disabled={send.isRunning}
                onClick={() => choose(undefined)}
              />
            </div>
          }
        >
          {send.isRunning ? (
            <Sending progress={progress} file={file} onStop={() => controller.current?.abort()} />
          ) : isUnknown && !layout ? (
            <Notice tone="warning" title="The format of this file is not known">
              <p>Say above what its columns are, or choose its format.</p>
            </Notice>
          ) : bad ? (
            <>
              {skus.length > 0 && (
                <UnknownSkus store={store} skus={skus} map={map} onMap={changeMap} />
              )}
              {mistakes.length > skus.length && <BadRows error={bad} file={file} />}
            </>
          ) : (
            <Outcome
              progress={progress}
              file={file}
              store_id={store_id}
              error={send.error}
              run={send.run}
            />
          )}
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
      <Button label="Stop" onClick={onStop} />
    </>
  )
}

interface OutcomeProps {
  readonly progress: Progress
  readonly file: File
  readonly store_id: string
  readonly error: unknown
  readonly run: (file: File, step: Progress['step']) => void
}

/** The result of a check or an import, and the next step. */
function Outcome({ progress, file, store_id, error, run }: OutcomeProps) {
  const { step, checked, done } = progress
  if (done) {
    return (
      <>
        <Notice tone="good" title={`Imported ${formatCount(done.added, 'new purchase')}`}>
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
        <Notice tone="good" title={`No mistake in ${formatCount(checked.rows, 'row')}`}>
          <p>Nothing is stored yet.</p>
          <Button
            label={`Import ${formatCount(checked.rows, 'row')} into ${store_id}`}
            class="primary"
            onClick={() => run(file, 'import')}
          />
        </Notice>
        <ImportCounts result={checked} />
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
      <Button label="Try again" onClick={() => run(file, step)} />
    </>
  )
}

/** Whether the server may have stored the rows: it was stopped, or its answer is lost. */
function isUnknown(error: unknown): boolean {
  return !(error instanceof TillError) || error.status === 0 || error.status >= 500
}

function isOther(done: ImportResult, checked: ImportResult | undefined): boolean {
  const facts = (result?: ImportResult) => JSON.stringify([result?.rows, result?.totals])
  return facts(done) !== facts(checked)
}
