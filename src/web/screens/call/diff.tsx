import { Button } from '../../ui/widgets';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { type FilePlan, type Hunk, hunkRange, isDiffText, type Preview } from '../../../contract/plan';
import { segments } from '../../../contract/text/unsafe-text';
import {
  changedWords,
  type DiffLine,
  digitsOf,
  type Look,
  numbered,
  partnersOf,
  styled,
  unnumbered,
} from '../../model/diff';
import { SeenEnd, SeenText, useNear } from '../../ui/seen';
import { Code, drawPieces, Ordered } from '../../ui/text';

/** The hunks that can be ticked, and the functions that tick them. */
interface HunkChoice {
  toggle: (id: string) => void;
  /** Ticks all hunks, or none. */
  tickAll: (isTicked: boolean) => void;
  /** Begins a comment on a hunk. */
  comment: (id: string) => void;
}

interface PreviewProps {
  preview: Preview;
  /** Ids of the ticked hunks. */
  ticked: readonly string[];
  /** Undefined if hunks cannot be chosen. */
  choice?: HunkChoice;
}

/** The preview of a call: the diff of a file with a checkbox for each hunk, or a text. */
export function PreviewView({ preview, ticked, choice }: PreviewProps) {
  const { text, plan } = preview;
  const shown = text.replace(/\n$/, '');
  const lines = useMemo(() => (isDiffText(text) ? unnumbered(shown) : undefined), [text]);
  if (plan && plan.targetHash !== '') return <Plan {...{ plan, ticked, choice }} />;
  if (lines) return <DiffLines lines={lines} path="" />;
  return (
    <pre class="code preview-text">
      <SeenText of={shown} />
    </pre>
  );
}

function Plan({ plan, ticked, choice }: Omit<PreviewProps, 'preview'> & { plan: FilePlan }) {
  const { path, hunks } = plan;
  const lines = hunks.flatMap(({ id, lines }) => (ticked.includes(id) ? lines : []));
  const countOf = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  const choosing = hunks.length > 1 ? choice : undefined;
  return (
    <div class="diff" style={{ '--digits': String(digitsOf(plan)) }}>
      <p class="diff-file">
        <Code of={path} />
        {plan.baseHash === null && <span class="chip good">new file</span>}
        {plan.encoding === 'latin1' && <span class="chip quiet">not UTF-8: one character a byte</span>}
        {plan.encoding.startsWith('utf16') && <span class="chip quiet">UTF-16</span>}
        {choosing && <TickAll {...{ choosing, ticked, all: hunks.length }} />}
        <span class="diff-count">
          <span class="plus">+{countOf('+')}</span> <span class="minus">−{countOf('-')}</span>
        </span>
      </p>
      {hunks.map((hunk) => (
        <HunkView key={hunk.id} {...{ path, hunk, isTicked: ticked.includes(hunk.id), choice: choosing }} />
      ))}
    </div>
  );
}

interface TickAllProps {
  choosing: HunkChoice;
  ticked: readonly string[];
  all: number;
}

function TickAll({ choosing, ticked, all }: TickAllProps) {
  return (
    <span class="tick-all">
      <span class="quiet" role="status">
        {ticked.length} of {all} hunks ticked
      </span>
      <Button
        look="plain"

        disabled={ticked.length === all}
        onClick={() => choosing.tickAll(true)}
      >
        Tick all
      </Button>
      <Button
        look="plain"

        disabled={ticked.length === 0}
        onClick={() => choosing.tickAll(false)}
      >
        Tick none
      </Button>
    </span>
  );
}

interface HunkProps {
  path: string;
  hunk: Hunk;
  isTicked: boolean;
  choice: HunkChoice | undefined;
}

function HunkView({ path, hunk, isTicked, choice }: HunkProps) {
  const lines = useMemo(() => <DiffLines lines={numbered(hunk)} path={path} />, [hunk, path]);
  return (
    <section class={`hunk${isTicked ? '' : ' left-out'}`} aria-label={`Hunk ${hunk.id}`}>
      <div class="hunk-head">
        {choice ? (
          <label>
            <input type="checkbox" checked={isTicked} onChange={() => choice.toggle(hunk.id)} />
            Hunk {hunk.id}
          </label>
        ) : (
          <span>Hunk {hunk.id}</span>
        )}
        <code class="quiet">{hunkRange(hunk)}</code>
        {!isTicked && <span class="chip quiet">left out</span>}
        {choice && (
          <Button look="plain" onClick={() => choice.comment(hunk.id)}>
            Comment<span class="sr-only"> on hunk {hunk.id}</span>
          </Button>
        )}
      </div>
      {lines}
    </section>
  );
}

/** How many lines are drawn together and have to be seen together: about one screen on a phone. */
const EVERY = 12;

/**
 * The lines of a hunk with their numbers before and after the change, or the lines of a unified diff that came as text.
 */
function DiffLines({ lines, path }: { lines: readonly DiffLine[]; path: string }) {
  const starts = Array.from({ length: Math.ceil(lines.length / EVERY) }, (_, index) => index * EVERY);
  return (
    <div class="diff-lines">
      {starts.map((from) => (
        <Block key={from} {...{ lines, path, from, to: Math.min(from + EVERY, lines.length) }} />
      ))}
    </div>
  );
}

interface BlockProps {
  lines: readonly DiffLine[];
  path: string;
  from: number;
  /** The index after the last line. */
  to: number;
}

/**
 * Some lines of a diff. While the lines are far out of view, the browser does not lay them out, and their words and
 * syntax have no colours yet.
 */
function Block({ lines, path, from, to }: BlockProps) {
  const ref = useRef<HTMLDivElement>(null);
  const isNear = useNear(ref);
  const looks = useLooks({ lines, path, from, to }, isNear);
  return (
    <div class="diff-block" ref={ref} style={{ '--lines': String(to - from) }}>
      {lines.slice(from, to).map((line, index) => (
        <Line key={index} line={line} looks={looks.get(from + index) ?? NO_LOOKS} />
      ))}
      <SeenEnd />
    </div>
  );
}

const NO_LOOKS: readonly Look[] = [];

/** The changed words of some lines, and their syntax once that part of the page is loaded. */
function useLooks({ lines, path, from, to }: BlockProps, isNear: boolean): Map<number, readonly Look[]> {
  const [syntax, setSyntax] = useState<Map<number, Look[]>>();
  useEffect(() => {
    if (!isNear || path === '') return;
    let isWanted = true;
    // Without the syntax the lines stay as they are.
    import('../../model/syntax').then(
      ({ syntaxOf }) => isWanted && setSyntax(syntaxOf(path, lines, { from, to })),
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [isNear, lines, path]);
  return useMemo(() => {
    const looks = new Map<number, readonly Look[]>(syntax);
    if (!isNear) return looks;
    const partners = partnersOf(lines);
    for (let index = from; index < to; index++) {
      const [line, partner] = [lines[index], lines[partners.get(index) ?? -1]];
      if (line === undefined || partner === undefined) continue;
      looks.set(index, [...(syntax?.get(index) ?? []), ...changedWords(line, partner)]);
    }
    return looks;
  }, [isNear, syntax, lines]);
}

const WORDS: Partial<Record<DiffLine['kind'], string>> = { added: 'added: ', removed: 'removed: ' };
/** A line over this length fills a screen, so each of its parts has to be seen. */
const LONG = 600;

function Line({ line: { kind, before, after, line }, looks }: { line: DiffLine; looks: readonly Look[] }) {
  return (
    <div class={`line ${kind}`} data-before={before} data-after={after}>
      {WORDS[kind] !== undefined && <span class="sr-only">{WORDS[kind]}</span>}
      {line.length > LONG ? <SeenText of={line} layout="diff" /> : <LineText {...{ line, looks }} />}
    </div>
  );
}

function LineText({ line, looks }: { line: string; looks: readonly Look[] }) {
  const pieces = useMemo(() => segments(line, 'diff'), [line]);
  return (
    <Ordered of={pieces}>
      {styled(pieces, looks).map(({ piece, look }, index) =>
        look === '' ? (
          drawPieces([piece])
        ) : (
          <span key={index} class={look}>
            {drawPieces([piece])}
          </span>
        ),
      )}
    </Ordered>
  );
}
