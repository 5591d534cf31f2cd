interface Bar {
  readonly label: string
  readonly value: number
  /** The value as text. */
  readonly text: string
}

/** Horizontal bars, each with its label and value. */
export function Bars({ label, bars }: { readonly label: string; readonly bars: readonly Bar[] }) {
  const highest = Math.max(1, ...bars.map(({ value }) => value))
  return (
    <ul class="bars" aria-label={label}>
      {bars.map(({ label, value, text }) => (
        <li key={label}>
          <span>{label}</span>
          <b>{text}</b>
          <div class="bar" style={{ width: `${(100 * value) / highest}%` }} />
        </li>
      ))}
    </ul>
  )
}
