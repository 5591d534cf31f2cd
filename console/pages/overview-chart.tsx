import { useState } from 'preact/hooks'
import { formatMoney, formatPeriod, formatShortMoney } from '../format.ts'

interface ChartProps {
  readonly label: string
  /** The names of the periods, with their revenue in minor units. */
  readonly columns: readonly (readonly [period: string, revenue: string])[]
  /** Whether the last period is not over yet. */
  readonly isRunning: boolean
  readonly currency: string
}

/** The most names of periods below the columns. */
const MOST_NAMES = 7

/** A column for each period, with an axis. The pointer or the arrow keys choose one to read. */
export function Chart({ label, columns, isRunning, currency }: ChartProps) {
  const [chosen, choose] = useState<number>()
  const last = columns.length - 1
  const read = Math.min(chosen ?? last, last)
  const [period, revenue] = columns[read] ?? ['', '0']
  const more = isRunning && read === last ? ', so far' : ''
  const reading = `${formatPeriod(period)}${more}: ${formatMoney(revenue, currency)}`
  const top = niceTop(Math.max(...columns.map(([, revenue]) => Number(revenue))))
  const step = Math.ceil(columns.length / MOST_NAMES)
  return (
    <div class="chart">
      <p class="reading">{reading}</p>
      <div class="axis" aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span key={value}>{formatShortMoney(value, currency)}</span>
        ))}
      </div>
      <div class="plot" onPointerLeave={() => choose(undefined)}>
        {/* Not seen: it gives the arrow keys, and the values to screen readers. */}
        <input
          type="range"
          aria-label={label}
          aria-valuetext={reading}
          max={last}
          value={read}
          onInput={({ currentTarget }) => choose(currentTarget.valueAsNumber)}
        />
        {columns.map(([period, revenue], index) => (
          <div
            key={period}
            class={index === chosen ? 'column chosen' : 'column'}
            onPointerEnter={() => choose(index)}
          >
            <div
              class={isRunning && index === last ? 'bar running' : 'bar'}
              style={{ height: `${(100 * Number(revenue)) / top}%` }}
            />
            {index % step === 0 && index <= last - step / 2 && (
              <span class={(index / step) % 2 ? 'tick wide-only' : 'tick'}>
                {formatPeriod(period)}
              </span>
            )}
          </div>
        ))}
      </div>
    </div>
  )
}

/** The end of the axis: the next of 1, 2, 3, 4, 5, 6 or 8 times a power of ten. */
function niceTop(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)))
  const factor = [1, 2, 3, 4, 5, 6, 8, 10].find((factor) => factor * power >= highest) ?? 10
  return Math.max(2, factor * power)
}
