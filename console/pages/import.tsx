import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { type Explanation, type ImportResult, type Store, TillError } from '../../client/manage.ts'
import { PRESET_TITLES } from '../../lib/domain/preset.ts'
import { reloadAll, useAction } from '../data.ts'
import { Button } from '../parts/button.tsx'
import { download } from '../parts/download.ts'
import type { FieldInfo } from '../parts/fields.tsx'
import { FileChoice } from '../parts/file.tsx'
import { Fields, type Values } from '../parts/form.tsx'
import { detailsOf, Failure, Loading, Notice } from '../parts/notice.tsx'
import { Page, Section } from '../parts/page.tsx'
import { setUnsaved } from '../place.ts'
import { client, remembered } from '../session.ts'
import { BadRows, isBadFile } from './import-bad-rows.tsx'
import { LayoutChoice } from './import-layout.tsx'
import { ImportOutcome } from './import-outcome.tsx'
import { UnknownSkus } from './import-skus.tsx'
import { Imports } from './imports.tsx'

/** The format of a file whose columns are chosen on the page. */
const COLUMNS = 'columns'

const SETTINGS: readonly FieldInfo[] = [
  {
    label: 'Format',
    name: 'preset',
    options: {
      '': 'Recognize it by the header',
      ...PRESET_TITLES,
      [COLUMNS]: 'Choose the columns',
    },
  },
  { label: 'Prices are in major units', name: 'isMajor', kind: 'check', hint: '4.99, not 499' },
  {
    label: 'Refunds only',
    name: 'refundsOnly',
    kind: 'check',
    hint: 'Only advances the statuses of stored purchases, and compares only the ids',
  },
]

/** The server examines no more bytes of a file. One more tells it that the file goes on. */
const EXAMINED = 8 * 1024 ** 2 + 1

/** The request under way or the last one, and what the server has answered about the file. */
interface Progress {
  readonly step: 'check' | 'import'
  /** The bytes of the file that are sent. */
  readonly sent: number
  /** The columns of a file of unknown format. */
  readonly found?: Explanation | undefined
  readonly checked?: ImportResult | undefined
  readonly done?: ImportResult
}

const NOTHING: Progress = { step: 'check', sent: 0 }

export function Import({ store }: { readonly store: Store }) {
  const { store_id } = store
  const [file, setFile] = useState<File>()
  const [settings, setSettings] = useState<Values>({})
  const [layout, setLayout] = useState<object>()
  const [map, setMap] = useState(() => remembered.read(store_id))
  const [progress, setProgress] = useState(NOTHING)
  const controller = useRef<AbortController>(undefined)
  const { preset, isMajor, refundsOnly } = settings
  const isByColumns = preset === COLUMNS

  const send = useAction(async (file: File, step: Progress['step']) => {
    const kept = step === 'import' ? progress : { found: layout && progress.found }
    const show = (news: Partial<Progress>) =>
      setProgress({ sent: file.size, ...kept, step, ...news })
    show({ sent: 0 })
    controller.current = new AbortController()
    const { signal } = controller.current
    const explain = async () => {
      const start = file.slice(0, EXAMINED)
      show({ found: await client.purchases.explain({ store_id, file: start }, { signal }) })
      return false
    }
    if (isByColumns && !layout) return explain()
    const sending = client.imports.create(
      {
        store_id,
        file,
        layout,
        preset: (!layout && preset) || undefined,
        priceUnit: !layout && isMajor ? 'major' : undefined,
        refundsOnly: refundsOnly === 'true',
        skus: map || undefined,
        dryRun: step === 'check',
        onProgress: ({ bytes }) => show({ sent: bytes }),
      },
      { signal },
    )
    if (step === 'import') sending.catch(reloadAll) // the rows may be stored all the same
    try {
      show({ [step === 'check' ? 'checked' : 'done']: await sending })
      return step === 'import'
    } catch (error) {
      const isOfUnknownFormat = detailsOf(error).some(({ code }) => code === 'missing_column')
      if (preset || layout || !isOfUnknownFormat) throw error
      return explain()
    }
  })
  const choose = (file: File | undefined) => {
    setFile(file)
    setLayout(undefined)
    setProgress(NOTHING)
  }
  // Checks a file as soon as it is chosen, and again with other settings. A layout effect, because
  // the form is locked from this moment on.
  useLayoutEffect(() => {
    if (file) send.run(file, 'check')
  }, [file, settings, layout, map])
  const isImporting = send.isRunning && progress.step === 'import'
  // A layout effect, because a person may leave as soon as the result is shown.
  useLayoutEffect(() => setUnsaved(document.body, isImporting), [isImporting])
  const changeMap = (map: string) => {
    remembered.write(store_id, map)
    setMap(map)
  }
  const { step, found, checked, done } = progress
  const result = step === 'check' ? checked : done
  const bad = isBadFile(send.error) ? send.error : undefined
  const skus = bad?.details.filter(({ sku }) => sku) ?? []

  return (
    <Page
      title="Import purchases"
      lead="All rows of a CSV file are stored, or none. The same file twice changes nothing."
    >
      <Section title="Choose a file">
        <fieldset disabled={send.isRunning}>
          <FileChoice
            label={file?.name ?? 'Drop a CSV file here, or choose one'}
            onChoose={(file) => send.isRunning || choose(file)}
          />
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
      {file && (
        <Section
          title="Check it, then import it"
          actions={
            <Button
              label="Choose another file"
              disabled={send.isRunning}
              onClick={() => choose(undefined)}
            />
          }
        >
          {found && <LayoutChoice found={found} store_id={store_id} onCheck={setLayout} />}
          {send.isRunning ? (
            <Sending progress={progress} file={file} onStop={() => controller.current?.abort()} />
          ) : bad ? (
            <>
              {skus.length > 0 && (
                <UnknownSkus store={store} skus={skus} map={map} onMap={changeMap} />
              )}
              {bad.details.length > skus.length && <BadRows error={bad} file={file} />}
            </>
          ) : result ? (
            <ImportOutcome
              result={result}
              checked={checked}
              store_id={store_id}
              onImport={() => send.run(file, 'import')}
            />
          ) : (
            (layout || !found) && (
              <Failed
                error={send.error}
                isImport={step === 'import'}
                onRetry={() => send.run(file, step)}
              />
            )
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

interface FailedProps {
  readonly error: unknown
  readonly isImport: boolean
  readonly onRetry: () => void
}

/** A request that failed, or was stopped. */
function Failed({ error, isImport, onRetry }: FailedProps) {
  const isRefused = error instanceof TillError && error.status > 0 && error.status < 500
  return (
    <>
      <Failure error={error} />
      {isImport && !isRefused && (
        <Notice tone="warning" title="It is not known whether the rows were stored">
          <p>
            If they were, the list below has the import. The server stores all rows or none, and
            skips those that it has: trying again is safe.
          </p>
        </Notice>
      )}
      <Button label="Try again" onClick={onRetry} />
    </>
  )
}
