/** Elements that draw their text themselves, or hide it on purpose. */
const OWN_TEXT = '.sr-only, .grows, .field, .edit';

/**
 * Whether the text before the end of a block is painted: a hit test finds its last character, and no other text of the
 * block within the window is left out of what the browser draws.
 */
export function isPaintedTo(end: Element): boolean {
  const block = end.parentElement;
  if (block === null || block.closest(OWN_TEXT) !== null) return true;
  // What is far is not drawn yet.
  if (block.matches('.far')) return false;
  const texts = textsIn(block, end);
  const last = texts.at(-1);
  return (
    last === undefined || (hitAt(last) === 'painted' && !texts.some((text) => hitAt(text) === 'missing'))
  );
}

/** The texts of a block up to its end that have a place on the screen. */
function textsIn(block: Element, end: Element): Text[] {
  const walker = document.createTreeWalker(block, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  for (let node = walker.nextNode(); node instanceof Text; node = walker.nextNode()) {
    const isBefore = (node.compareDocumentPosition(end) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    const isShown =
      node.parentElement?.checkVisibility() === true && node.parentElement.closest(OWN_TEXT) === null;
    if (isBefore && isShown && node.data.trim() !== '') texts.push(node);
  }
  return texts;
}

/**
 * What stands where the last character of a text belongs. `missing`: only what lies behind the text, so the text is not
 * painted. `covered`: something else, or the place is outside of the window.
 */
function hitAt(text: Text): 'painted' | 'missing' | 'covered' {
  const rect = lastRect(text);
  const own = text.parentElement;
  if (rect === undefined || own === null) return 'painted';
  const hit = document.elementFromPoint(rect.right - Math.min(2, rect.width / 2), rect.top + rect.height / 2);
  if (hit === own) return 'painted';
  return hit?.contains(own) === true ? 'missing' : 'covered';
}

/** The place of the last character of a text. A mark has its place on the letter before it. */
function lastRect(text: Text): DOMRect | undefined {
  const range = document.createRange();
  const end = text.data.trimEnd().length;
  range.setEnd(text, end);
  for (let start = end - 1; start >= 0; start--) {
    range.setStart(text, start);
    const rect = [...range.getClientRects()].findLast(({ width }) => width > 0);
    if (rect !== undefined) return rect;
  }
  return undefined;
}
