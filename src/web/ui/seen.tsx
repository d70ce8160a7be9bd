import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type Layout, segments } from '../../contract/text/unsafe-text';
import { blocksOf } from '../model/review';
import { Pieces } from './text';

/** Watches the ends of blocks come into view, with the text before them painted. */
interface Watcher {
  /** `of`: what the block shows, so that a later look at the same call knows it. */
  watch(end: Element, of?: string): () => void;
  /** What this person saw of the call before this look at it. */
  before: ReadonlySet<string>;
}

/** What was painted of each call in this tab. */
const painted = new Map<string, Set<string>>();

/** After how many milliseconds an end in view is looked at again whose text was not painted. */
const LOOK_AGAIN_MS = 200;

const Seen = createContext<Watcher | undefined>(undefined);

/** The blocks that have not been in view yet: their number, and the end of the first of them. */
export interface Unseen {
  count: number;
  next: () => Element | undefined;
}

interface WatchProps {
  report: (unseen: Unseen) => void;
  /** The name of the call. Absent: what is seen is not remembered. */
  name?: string;
  children: ComponentChildren;
}

/** Reports which blocks inside it have not been in view yet. */
export function WatchSeen({ report, name, children }: WatchProps) {
  const watcher = useMemo(() => createWatcher(report, name), []);
  useEffect(() => watcher.stop, [watcher]);
  return <Seen.Provider value={watcher}>{children}</Seen.Provider>;
}

function createWatcher(report: WatchProps['report'], name = ''): Watcher & { stop(): void } {
  const seenOf = painted.get(name) ?? new Set<string>();
  const before = new Set(seenOf);
  const unseen = new Map<Element, string | undefined>();
  const next = () =>
    [...unseen.keys()].sort((a, b) =>
      a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1,
    )[0];
  const update = () => report({ count: unseen.size, next });
  const inView = new Set<Element>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Whether a text is painted changes without an event, for example when what lies over it goes away.
  const look = () => {
    clearTimeout(timer);
    const seen = [...inView].filter(isPaintedTo);
    for (const end of seen) {
      const of = unseen.get(end);
      if (of !== undefined && name !== '') painted.set(name, seenOf.add(of));
      forget(end);
    }
    if (seen.length > 0) update();
    if (inView.size > 0) timer = setTimeout(look, LOOK_AGAIN_MS);
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inView.add(target);
      else inView.delete(target);
    }
    look();
  });
  const forget = (end: Element) => {
    observer.unobserve(end);
    inView.delete(end);
    unseen.delete(end);
  };
  return {
    before,
    watch(end, of) {
      unseen.set(end, of);
      observer.observe(end);
      update();
      return () => {
        forget(end);
        update();
      };
    },
    stop: () => {
      clearTimeout(timer);
      observer.disconnect();
    },
  };
}

/** A text that a person has to see to its end. */
export function SeenText({ of, layout = 'block' }: { of: string; layout?: Layout }) {
  const blocks = useMemo(() => blocksOf(segments(of, layout)), [of, layout]);
  return (
    <>
      {blocks.map((block, index) => (
        <span key={index}>
          <Pieces of={block} />
          <SeenEnd />
        </span>
      ))}
    </>
  );
}

/** The end of a block that a person has to see. */
export function SeenEnd({ of }: { of?: string }) {
  const watcher = useContext(Seen);
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => (ref.current === null ? undefined : watcher?.watch(ref.current, of)), [watcher, of]);
  return <span class="seen-end" ref={ref} />;
}

/** Whether this person saw a block of this call before this look at it. */
export function useSeenBefore(): (of: string) => boolean {
  const watcher = useContext(Seen);
  return (of) => watcher?.before.has(of) === true;
}

/** How far outside the screen a block still counts as near. */
const NEAR = '600px 0px';

/** Whether an element was near the screen. What is far needs not be drawn. */
export function useNear(ref: { current: HTMLElement | null }): boolean {
  const [isNear, setNear] = useState(false);
  useEffect(() => {
    if (ref.current === null) return;
    const root = ref.current.closest('.detail-pane, .main');
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        setNear(true);
        observer.disconnect();
      },
      { root, rootMargin: NEAR },
    );
    observer.observe(ref.current);
    return () => observer.disconnect();
  }, []);
  return isNear;
}

interface PartProps {
  /** How many lines it has, about. */
  lines: number;
  /** What it shows. Absent: what is inside says itself what was seen. */
  of: string | undefined;
  draw: () => ComponentChildren;
}

/** A block that is drawn once it is near, and that a person has to see. */
export function SeenPart({ lines, of, draw }: PartProps) {
  const ref = useRef<HTMLDivElement>(null);
  const isNear = useNear(ref);
  return (
    <div class={isNear ? 'seen-part' : 'seen-part far'} ref={ref} style={{ '--lines': String(lines) }}>
      {isNear && draw()}
      <SeenEnd of={of} />
    </div>
  );
}

/** Elements that draw their text themselves, or hide it on purpose. */
const OWN_TEXT = '.sr-only, .grows, .field, .edit';

/**
 * Whether the text before the end of a block is painted: a hit test finds its last character, and no other text of the
 * block within the window is left out of what the browser draws.
 */
function isPaintedTo(end: Element) {
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
    if (rect) return rect;
  }
  return undefined;
}
