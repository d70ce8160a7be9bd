import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks';
import { segments, type Layout } from '../../contract/visible';
import { blocksOf } from '../model/blocks';
import { Pieces } from './text';

/** Knows which ends of blocks have been in sight. */
interface Watcher {
  watch(end: Element): () => void;
  /** The first end that has not been in sight, in the order of the page. */
  next(): Element | undefined;
}

const Seen = createContext<Watcher | undefined>(undefined);

/** Reports how many blocks inside it have not been in sight yet. */
export function WatchSeen({
  report,
  children,
}: {
  report: (unseen: number, next: () => Element | undefined) => void;
  children: ComponentChildren;
}): JSX.Element {
  const watcher = useMemo(() => createWatcher((unseen, next) => report(unseen, next)), []);
  useEffect(() => watcher.stop, [watcher]);
  return <Seen.Provider value={watcher}>{children}</Seen.Provider>;
}

function createWatcher(
  changed: (unseen: number, next: () => Element | undefined) => void,
): Watcher & { stop(): void } {
  const unseen = new Set<Element>();
  const next = (): Element | undefined => [...unseen].sort(byPlace)[0];
  const forget = (end: Element): void => {
    observer.unobserve(end);
    if (unseen.delete(end)) changed(unseen.size, next);
  };
  const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) forget(target);
  });
  return {
    watch(end) {
      unseen.add(end);
      observer.observe(end);
      changed(unseen.size, next);
      return () => forget(end);
    },
    next,
    stop: () => observer.disconnect(),
  };
}

function byPlace(a: Element, b: Element): number {
  return a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1;
}

/** A text that a person has to have seen to its end. */
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

/** The end of something that a person has to have seen. */
export function SeenEnd(): JSX.Element {
  const watcher = useContext(Seen);
  const ref = useRef<HTMLSpanElement>(null);
  useEffect(() => (ref.current === null ? undefined : watcher?.watch(ref.current)), [watcher]);
  return <span class="seen-end" ref={ref} />;
}
