/**
 * Finds the mistakes of the page. A text may be cut only by an ellipsis, at its end, and with a
 * `title` that has all of it. A block of code may scroll. Long names without spaces, and Chinese
 * and Japanese, may be broken. What is seen of a text may not overlap what is seen of another one.
 */
globalThis.findMistakes = () => {
  const mistakes = new Set()
  const report = (kind, text = '') => mistakes.add(`${kind}: ${text.trim().slice(0, 80)}`)
  if (document.documentElement.scrollWidth > innerWidth) report('the page is wider than the screen')
  const top = document.querySelector('header.top')?.clientHeight ?? 0
  if (top > (innerWidth > 640 ? 60 : 120)) report(`the header is ${top} pixels high`)

  const isCutWell = (box, text) => {
    const { textOverflow, webkitLineClamp } = getComputedStyle(box)
    const isEllipsis = textOverflow === 'ellipsis' || webkitLineClamp !== 'none'
    const titles = [...box.querySelectorAll('[title]')].map((each) => each.getAttribute('title'))
    const own = box.closest('[title]')?.getAttribute('title')
    return isEllipsis && [own, ...titles].some((title) => title?.includes(text.trim()))
  }
  /** The boxes that cut what they contain, from the inside out. */
  const cuttersOf = (element) => {
    const boxes = []
    for (let box = element; box; box = box.parentElement) {
      const { overflowX, display } = getComputedStyle(box)
      if (overflowX === 'auto') return []
      if (overflowX !== 'visible' && display !== 'inline') boxes.push(box)
    }
    return boxes
  }
  const isOutside = (inner, box) => {
    const { left, right, top, bottom } = box.getBoundingClientRect()
    const isWide = inner.left < left - 1 || inner.right > right + 1
    return isWide || inner.top < top - 3 || inner.bottom > bottom + 3
  }

  const intersect = (...boxes) => ({
    left: Math.max(...boxes.map((box) => box.left)),
    right: Math.min(...boxes.map((box) => box.right)),
    top: Math.max(...boxes.map((box) => box.top)),
    bottom: Math.min(...boxes.map((box) => box.bottom)),
  })
  /** What is seen of each line of text: without what boxes cut. */
  const seen = []
  /** Whether two lines overlap. Letters may reach some pixels into the lines above and below. */
  const isOver = (one, other) => {
    const { left, right, top, bottom } = intersect(one, other)
    return right - left > 1 && bottom - top > 4
  }

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement
    const text = node.nodeValue ?? ''
    const isShown = element.checkVisibility({ checkVisibilityCSS: true, checkOpacity: true })
    if (!isShown || !text.trim() || element.closest('thead, option, textarea, pre, title, .skip'))
      continue
    const range = document.createRange()
    range.selectNodeContents(node)
    const cutters = cuttersOf(element)
    const isClipped = getComputedStyle(element).clipPath !== 'none' // only for screen readers
    for (const rect of range.getClientRects()) {
      const boxes = cutters.map((box) => box.getBoundingClientRect())
      if (!isClipped) seen.push({ text, element, ...intersect(rect, ...boxes) })
      const cut = cutters.find((box) => isOutside(rect, box))
      if (cut && !isCutWell(cut, text)) report('cut', text)
      // The nearest block without `overflow: hidden`: its text must not stick out of it.
      const block = element.closest('td, dd, dt, p, h1, h2, h3, label, button, .badge, .card')
      if (!cut && block && cutters.length === 0 && isOutside(rect, block)) report('overflow', text)
    }
    range.setEnd(node, Math.max(1, text.search(/\S/) + 1))
    range.setStart(node, text.search(/\S/))
    const first = range.getBoundingClientRect()
    if (cutters.some((box) => isOutside(first, box))) report('the beginning is cut', text)

    for (const { 0: word, index } of text.matchAll(/[^ \n]+/g)) {
      const isName = element.closest('[dir="auto"]') && word.length > 24
      if (isName || /[\u3000-\u9fff]/.test(word)) continue
      range.setStart(node, index)
      range.setEnd(node, index + word.length)
      const lines = new Set([...range.getClientRects()].map((rect) => Math.round(rect.top / 4)))
      if (lines.size > 1) report('broken', word)
    }
  }
  for (const [i, one] of seen.entries()) {
    const other = seen
      .slice(i + 1)
      .find((each) => each.element !== one.element && isOver(one, each))
    if (other) report('overlapping', `${one.text.trim().slice(0, 40)} and ${other.text}`)
  }
  for (const badge of document.querySelectorAll('.badge')) {
    if (!badge.checkVisibility()) continue
    const rect = badge.getBoundingClientRect()
    if (cuttersOf(badge.parentElement).some((box) => isOutside(rect, box)))
      report('a cut badge', badge.textContent ?? '')
  }
  return [...mistakes]
}
