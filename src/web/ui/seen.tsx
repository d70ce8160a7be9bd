import { type ComponentChildren, createContext, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks';
import { type Layout, segments } from '../../contract/text/unsafe-text';
import { blocksOf } from '../model/review';
import { Pieces } from './text';

/** Watches the ends of blocks come into view. */
interface Watcher {
  watch(end: Element): () => void;
}

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
  const next = (): Element | undefined => [...unseen].sort(byPlace)[0];
  const update = (): void => report({ count: unseen.size, next });
  const observer = new IntersectionObserver((entries) => {
    const seen = entries.filter(({ isIntersecting }) => isIntersecting);
    for (const { target } of seen) forget(target);
    if (seen.length > 0) update();
  });
  const forget = (end: Element): void => {
    observer.unobserve(end);
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
    stop: () => observer.disconnect(),
  };
}

function byPlace(a: Element, b: Element): number {
  return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
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
