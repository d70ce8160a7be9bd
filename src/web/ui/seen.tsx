import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks';
import { type Layout, segments } from '../../contract/text/unsafe-text';
import { blocksOf } from '../model/review';
import { isPaintedTo } from './painted';
import { Pieces } from './text';

/** Watches the ends of blocks come into view, with the text before them painted. */
interface Watcher {
  watch(end: Element): () => void;
}

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
  children: ComponentChildren;
}

/** Reports which blocks inside it have not been in view yet. */
export function WatchSeen({ report, children }: WatchProps): JSX.Element {
  const watcher = useMemo(() => createWatcher(report), []);
  useEffect(() => watcher.stop, [watcher]);
  return <Seen.Provider value={watcher}>{children}</Seen.Provider>;
}

function createWatcher(report: WatchProps['report']): Watcher & { stop(): void } {
  const unseen = new Set<Element>();
  const next = (): Element | undefined =>
    [...unseen].sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))[0];
  const update = (): void => report({ count: unseen.size, next });
  const inView = new Set<Element>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  // Whether a text is painted changes without an event, for example when what lies over it goes away.
  const look = (): void => {
    clearTimeout(timer);
    const seen = [...inView].filter(isPaintedTo);
    for (const end of seen) forget(end);
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
  const forget = (end: Element): void => {
    observer.unobserve(end);
    inView.delete(end);
    unseen.delete(end);
  };
  return {
    watch(end) {
      unseen.add(end);
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
export function SeenText({ of, layout = 'block' }: { of: string; layout?: Layout }): JSX.Element {
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
export function SeenEnd(): JSX.Element {
  const watcher = useContext(Seen);
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => (ref.current === null ? undefined : watcher?.watch(ref.current)), [watcher]);
  return <span class="seen-end" ref={ref} />;
}
