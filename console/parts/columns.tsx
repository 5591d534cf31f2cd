interface ColumnsProps {
  /** What the columns show, for screen readers. The numbers are in a table beside the chart. */
  readonly label: string
  readonly names: readonly string[]
  readonly values: readonly number[]
  /** The values with all their digits. */
  readonly texts: readonly string[]
}

/** The most names below the columns. */
const MOST_NAMES = 6

/** A column chart in one colour. The highest value stands above its column. */
export function Columns({ label, names, values, texts }: ColumnsProps) {
  const highest = Math.max(...values)
  const step = Math.ceil(names.length / MOST_NAMES)
  return (
    <div class="plot" role="img" aria-label={label}>
      {values.map((value, index) => (
        <div key={names[index]} class="column" title={`${names[index]}: ${texts[index]}`}>
          {highest > 0 && value === highest && (
            <span class={index < values.length / 2 ? 'value' : 'value left'}>{texts[index]}</span>
          )}
          <div class="bar" style={{ height: `${(100 * value) / (highest || 1)}%` }} />
          <span class="name">{index % step === 0 ? names[index] : ''}</span>
        </div>
      ))}
    </div>
  )
}
