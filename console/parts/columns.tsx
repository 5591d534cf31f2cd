import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

interface ColumnsProps {
  /** What the columns show, for screen readers. The numbers are in a table beside the chart. */
  readonly label: string
  readonly names: readonly string[]
  readonly values: readonly number[]
  readonly format: (value: number) => string
}

/**
 * A column chart in one colour. The values stand above the columns, or that of the highest column
 * where there is no room for all.
 */
export function Columns({ label, names, values, format }: ColumnsProps) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const place = box.current
    if (!place) return
    let plot: uPlot | undefined
    const draw = () => {
      plot?.destroy()
      plot = new uPlot(optionsFor(place, names, values, format), dataOf(values), place)
    }
    // Draws again for another width, and for the other colour scheme.
    const observer = new ResizeObserver(draw)
    observer.observe(place)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', draw)
    return () => {
      observer.disconnect()
      scheme.removeEventListener('change', draw)
      plot?.destroy()
    }
  }, [JSON.stringify([names, values])])
  return <div ref={box} class="plot" role="img" aria-label={label} />
}

function dataOf(values: readonly number[]): uPlot.AlignedData {
  return [values.map((_, index) => index), [...values]]
}

function optionsFor(
  place: HTMLElement,
  names: readonly string[],
  values: readonly number[],
  format: (value: number) => string,
): uPlot.Options {
  const { clientWidth: width, clientHeight: height } = place
  const style = getComputedStyle(place)
  const ink = (name: string) => resolveColour(place, name)
  const font = `12px ${style.fontFamily}`
  const axis = { stroke: ink('--muted'), font, ticks: { show: false } }
  const shown = Math.max(1, Math.ceil((names.length * 64) / width))
  return {
    ...{ width, height, legend: { show: false }, cursor: { show: false } },
    padding: [12, 16, 0, 0],
    scales: {
      x: { time: false, range: [-0.6, values.length - 0.4] },
      y: { range: (_, __, max) => [0, (max || 1) * 1.15] },
    },
    axes: [
      {
        ...axis,
        size: 32,
        grid: { show: false },
        splits: () => names.map((_, index) => index).filter((index) => index % shown === 0),
        values: (_, splits) => splits.map((index) => names[index] ?? ''),
      },
      {
        ...axis,
        size: 60,
        grid: { stroke: ink('--line'), width: 1 },
        values: (_, splits) => splits.map(format),
      },
    ],
    series: [
      {},
      {
        fill: ink('--accent'),
        points: { show: false },
        paths: uPlot.paths.bars?.({ size: [0.7, 56] }) as uPlot.Series.PathBuilder,
      },
    ],
    hooks: { draw: [(plot) => drawValues(plot, values, format, font, ink('--text'))] },
  }
}

function drawValues(
  plot: uPlot,
  values: readonly number[],
  format: (value: number) => string,
  font: string,
  colour: string,
): void {
  const { ctx } = plot
  const highest = values.indexOf(Math.max(...values))
  ctx.save()
  ctx.font = font.replace(/^\d+/, (size) => String(Number(size) * devicePixelRatio))
  ctx.fillStyle = colour
  ctx.textAlign = 'center'
  const room = plot.bbox.width / values.length
  const areShown = values.every((value) => ctx.measureText(format(value)).width < room)
  values.forEach((value, index) => {
    const text = format(value)
    if (value === 0 || !(areShown || index === highest)) return
    const [x, y] = [plot.valToPos(index, 'x', true), plot.valToPos(value, 'y', true)]
    ctx.fillText(text, x, y - 6 * devicePixelRatio)
  })
  ctx.restore()
}

/** The colour of a variable of the style sheet, which depends on the colour scheme. */
function resolveColour(place: HTMLElement, name: string): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${name})`
  place.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}
