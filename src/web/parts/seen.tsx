import { createContext, type ComponentChildren, type JSX } from 'preact';
import { useContext, useEffect, useMemo, useRef } from 'preact/hooks';
import { segments, type Layout } from '../../contract/visible';
import { blocksOf } from '../model/blocks';
import { Pieces } from './text';

/** Knows which ends of blocks have been in sight. */
interface Watcher {
  watch(end: Element): () => void;
}

const Seen = createContext<Watcher | undefined>(undefined);

/** What has not been in sight yet: how many blocks, and the end of the first of them. */
export interface Unseen {
  count: number;
  next: () => Element | undefined;
}

type Report = (unseen: Unseen) => void;

/** Reports which blocks inside it have not been in sight yet. */
export function WatchSeen({
  report,
  children,
}: {
  report: Report;
  children: ComponentChildren;
}): JSX.Element {
  const watcher = useMemo(() => createWatcher(report), []);
  useEffect(() => watcher.stop, [watcher]);
  return <Seen.Provider value={watcher}>{children}</Seen.Provider>;
}

function createWatcher(report: Report): Watcher & { stop(): void } {
  const unseen = new Set<Element>();
  const next = (): Element | undefined => [...unseen].sort(byPlace)[0];
  const tell = (): void => report({ count: unseen.size, next });
  const observer = new IntersectionObserver((entries) => {
    const seen = entries.filter(({ isIntersecting }) => isIntersecting);
    for (const { target } of seen) forget(target);
    if (seen.length > 0) tell();
  });
  const forget = (end: Element): void => {
    observer.unobserve(end);
    unseen.delete(end);
  };
  return {
    watch(end) {
      unseen.add(end);
      observer.observe(end);
      tell();
      return () => {
        forget(end);
        tell();
      };
    },
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
