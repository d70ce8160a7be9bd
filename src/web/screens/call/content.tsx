import type { JSX } from 'preact';
import { type Leaf, leavesOf } from '../../../contract/text/json-diff';
import type { JsonObject } from '../../../contract/json';
import { SeenEnd, SeenText, Text } from '../../ui/text';
import { approvedHunks, changesOf, numbered, type NumberedLine, type Part } from '../../model/review';
import { kindOfResult, outputOf, type ResultKind, type ToolResult } from '../../../contract/result';
import { decisionDetails } from '../../../history/describe';
import { describeOutcome } from '../../../history/labels';
import { clock, span } from '../../../contract/text/times';
import type { DecisionMade, Resolved } from '../../../history/events';
import type { CallView } from '../../../history/view-types';
import type { FilePlan, Hunk, Preview } from '../../../contract/plan';

/** All leaves of the arguments in a flat list, so that nothing is hidden. Nothing is cut. */
export function ArgumentsView({ of }: { of: JsonObject }): JSX.Element {
  const leaves = leavesOf(of);
  if (leaves.length === 0) {
    return (
      <p class="quiet">
        None. <SeenEnd />
      </p>
    );
  }
  return (
    <dl class="leaves">
      {leaves.map((leaf) => (
        <LeafView key={leaf.path} {...leaf} />
      ))}
    </dl>
  );
}

function LeafView({ path, value }: Leaf): JSX.Element {
  return (
    <div class="leaf">
      <dt>
        <Text of={path} />
      </dt>
      {typeof value === 'string' ? (
        <dd class="text">
          <LeafText of={value} />
        </dd>
      ) : (
        <dd class="other">
          <code>{JSON.stringify(value)}</code>
          <SeenEnd />
        </dd>
      )}
    </div>
  );
}

function LeafText({ of }: { of: string }): JSX.Element {
  if (of === '') {
    return (
      <span class="quiet">
        (empty text)
        <SeenEnd />
      </span>
    );
  }
  const isBlock = of.includes('\n');
  return (
    <span class={isBlock ? 'code block' : 'code'}>
      <SeenText of={of} layout={isBlock ? 'block' : 'line'} />
    </span>
  );
}

/** The differences between two sets of arguments, word by word. */
export function Changes({ before, after }: { before: JsonObject; after: JsonObject }): JSX.Element {
  const changes = changesOf(before, after);
  if (changes.length === 0) return <p class="quiet">Nothing differs.</p>;
  return (
    <dl class="leaves changes">
      {changes.map(({ path, kind, parts }) => (
        <div key={path} class="leaf">
          <dt>
            <Text of={path} />
            {kind !== 'changed' && <span class="chip quiet">{kind}</span>}
          </dt>
          <dd class="code block">
            {parts.map((part, index) => (
              <PartView key={index} {...part} />
            ))}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function PartView({ kind, text }: Part): JSX.Element {
  const shown = <Text of={text} layout="block" />;
  if (kind === 'removed') return <del>{shown}</del>;
  return kind === 'added' ? <ins>{shown}</ins> : shown;
}

/** The decisions and resolutions of a call, what a person changed, and its result. */
export function Outcome({ call }: { call: CallView }): JSX.Element {
  const { decisions, resolutions, result } = call;
  const isChanged = JSON.stringify(call.arguments) !== JSON.stringify(call.effective);
  return (
    <section class="outcome" aria-label="Outcome">
      <ul class="said">
        {[...decisions, ...resolutions].map((event) => (
          <DecisionLine key={event.eventId} {...{ event }} />
        ))}
      </ul>
      {isChanged && <Changes before={call.arguments} after={call.effective} />}
      {result !== undefined && <Result result={result} call={call} />}
    </section>
  );
}

/** What the tool gave, and apart from it what else the model reads. */
function Result({ result, call }: { result: ToolResult; call: CallView }): JSX.Element {
  const { durationMs, attempts = 1, note } = call;
  const output = outputOf(result, note);
  return (
    <>
      <h3>
        {resultTitle(result)}
        {durationMs !== undefined && <span class="quiet"> {span(durationMs)}</span>}
        {attempts > 1 && <span class="quiet"> {attempts} attempts</span>}
      </h3>
      {result.error !== undefined && (
        <p>
          <Text of={result.error.message} layout="block" />
        </p>
      )}
      {output !== '' && (
        <pre class="code preview-text">
          <Text of={output} layout="block" />
        </pre>
      )}
      {note !== undefined && (
        <figure class="said-by">
          <figcaption>The model also reads</figcaption>
          <blockquote>
            <Text of={note} layout="block" />
          </blockquote>
        </figure>
      )}
    </>
  );
}

/** Nothing ran, because of a person, a rule or the time: the tool did not fail. */
const NOT_RUN: readonly ResultKind[] = ['denied', 'expired', 'refused', 'cancelled'];

function resultTitle(result: ToolResult): string {
  const kind = kindOfResult(result);
  const [word] = describeOutcome(kind);
  if (NOT_RUN.includes(kind)) return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  if (!result.success) return word === 'failed' ? 'Failed' : `Failed: ${word}`;
  return result.metadata.late === true ? 'Result, late' : 'Result';
}

/** One decision or resolution: when, what, by whom and why. */
export function DecisionLine({ event }: { event: DecisionMade | Resolved }): JSX.Element {
  const what = event.type === 'decision' ? event.decision : event.resolution;
  const { judgement } = event;
  return (
    <li>
      <span class="quiet">{clock(event.at)}</span> <strong>{what ?? 'said something unreadable'}</strong> by{' '}
      <Text of={event.approver} />{' '}
      <span class="quiet">
        ({event.authenticated === true ? 'signed in' : 'as claimed'}, <Text of={event.channel} />)
      </span>
      {event.type === 'decision' && <Text of={decisionDetails(event)} />}
      {event.reason !== undefined && ': '}
      {event.reason !== undefined && <Text of={event.reason} />}
      {judgement.accepted === false && <span class="chip bad">refused: {judgement.code}</span>}
    </li>
  );
}

/** What a call does that was decided, with the hunks that a person approved. */
export function DecidedPreview({ call }: { call: CallView }): JSX.Element | null {
  const preview = call.request?.preview;
  if (preview === undefined) return null;
  const approved = approvedHunks(call);
  const all = preview.plan?.hunks ?? [];
  return (
    <section aria-label={`What ${call.callId} does`}>
      <h3>
        {call.result?.success === true ? 'What it did' : 'What it does'}
        {approved.length < all.length && (
          <span class="quiet">
            {' '}
            {approved.length} of {all.length} hunks approved
          </span>
        )}
      </h3>
      <PreviewView preview={preview} ticked={approved} toggle={undefined} />
    </section>
  );
}

interface PreviewProps {
  preview: Preview;
  /** Ids of the ticked hunks. */
  ticked: readonly string[];
  /** Undefined when hunks cannot be chosen. */
  toggle: ((id: string) => void) | undefined;
}

/** What a call will do: the diff of a file with a checkbox for each hunk, or a text. */
export function PreviewView({ preview, ticked, toggle }: PreviewProps): JSX.Element {
  const { text, plan } = preview;
  if (plan !== undefined && plan.targetHash !== '') return <Plan {...{ plan, ticked, toggle }} />;
  const shown = text.replace(/\n$/, '');
  if (/^@@ -\d/m.test(text)) return <DiffLines lines={shown.split('\n').map((line) => ({ line }))} />;
  return (
    <pre class="code preview-text">
      <SeenText of={shown} />
    </pre>
  );
}

function Plan({ plan, ticked, toggle }: Omit<PreviewProps, 'preview'> & { plan: FilePlan }): JSX.Element {
  const lines = plan.hunks.flatMap((hunk) => hunk.lines);
  const countOf = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
  return (
    <div class="diff">
      <p class="diff-file">
        <code>
          <Text of={plan.path} />
        </code>
        {plan.baseHash === null && <span class="chip good">new file</span>}
        {plan.encoding === 'latin1' && <span class="chip quiet">not UTF-8: one character a byte</span>}
        <span class="diff-count">
          <span class="plus">+{countOf('+')}</span> <span class="minus">−{countOf('-')}</span>
        </span>
      </p>
      {plan.hunks.map((hunk) => (
        <HunkView
          key={hunk.id}
          {...{ hunk, toggle, isTicked: ticked.includes(hunk.id), canChoose: plan.hunks.length > 1 }}
        />
      ))}
    </div>
  );
}

interface HunkProps {
  hunk: Hunk;
  isTicked: boolean;
  canChoose: boolean;
  toggle: PreviewProps['toggle'];
}

function HunkView({ hunk, isTicked, canChoose, toggle }: HunkProps): JSX.Element {
  const range = `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`;
  return (
    <section class={`hunk${isTicked ? '' : ' left-out'}`} aria-label={`Hunk ${hunk.id}`}>
      <div class="hunk-head">
        {canChoose && toggle !== undefined ? (
          <label>
            <input type="checkbox" checked={isTicked} onChange={() => toggle(hunk.id)} />
            Hunk {hunk.id}
          </label>
        ) : (
          <span>Hunk {hunk.id}</span>
        )}
        <code class="quiet">{range}</code>
        {!isTicked && <span class="chip quiet">left out</span>}
      </div>
      <DiffLines lines={numbered(hunk)} />
    </section>
  );
}

const MARKS: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed' };
/** A longer line fills a screen, so each of its parts has to be seen. */
const LONG = 600;
/** Lines that have to be seen together: about a screen on a phone. */
const EVERY = 12;

/** The lines of a hunk with their numbers before and after, or those of a unified diff that came as text. */
function DiffLines({ lines }: { lines: readonly (NumberedLine | { line: string })[] }): JSX.Element {
  return (
    <table class="diff-lines">
      <tbody>
        {lines.map((one, index) => (
          <tr key={index} class={'before' in one ? classOf(one.line) : textClassOf(one.line)}>
            {'before' in one && <td class="number">{one.before}</td>}
            {'before' in one && <td class="number">{one.after}</td>}
            <LineCell line={one.line} isEnd={index % EVERY === EVERY - 1 || index === lines.length - 1} />
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LineCell({ line, isEnd }: { line: string; isEnd: boolean }): JSX.Element {
  const word = MARKS[line[0] ?? ''];
  return (
    <td class="line">
      {word !== undefined && <span class="sr-only">{word}: </span>}
      {line.length > LONG ? <SeenText of={line} layout="diff" /> : <Text of={line} layout="diff" />}
      {isEnd && <SeenEnd />}
    </td>
  );
}

function classOf(line: string): string {
  if (line.startsWith('+')) return 'added';
  if (line.startsWith('-')) return 'removed';
  return line.startsWith('\\') ? 'meta' : '';
}

function textClassOf(line: string): string {
  return /^(---|\+\+\+|@@)/.test(line) ? 'meta' : classOf(line);
}
