import { TurnLink } from '../../ui/widgets';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { counted, describeOutcome, grantText, howKnown, wordsBy } from '../../../history/labels';
import { type Leaf, leavesOf } from '../../../contract/text/json-diff';
import type { Json, JsonObject } from '../../../contract/json';
import { SeenEnd, SeenPart, SeenText, useSeenBefore, WatchSeen } from '../../ui/seen';
import { Text } from '../../ui/text';
import { leavesBeside } from '../../../contract/text/plan-leaves';
import { type ArgumentsPart, leafParts, argumentParts, type Rows } from '../../model/parts';
import { approvedHunks, changesOf, isLong } from '../../model/review';
import { outputOf, type ResultKind, type ToolResult } from '../../../contract/result';
import { wordIn } from '../../../history/decisions';
import { decisionDetails } from '../../../history/describe';
import { dateTime, span } from '../../../contract/text/times';
import { PreviewView } from './diff';
import type { Answered, DecisionMade, Resolved } from '../../../history/events';
import type { CallView } from '../../../history/view-types';
import type { FilePlan } from '../../../contract/plan';

interface ArgumentsProps {
  of: JsonObject;
  /**
   * The file change that is shown above. Values that are part of this change are not shown again unless the person
   * opens them.
   */
  plan?: FilePlan;
  /** Whether the parts that this person saw before, and that are the same now, are folded up. */
  mayFold?: boolean;
}

/** All arguments, in parts of about one screen, so that nothing is hidden or cut. */
export function ArgumentsView({ of, plan, mayFold = false }: ArgumentsProps) {
  const wasSeen = useSeenBefore();
  // Drawn once: each part that comes into view draws the screen around it anew.
  return useMemo(() => {
    const { own, shown } = leavesBeside(plan, leavesOf(of));
    const all = (shown.length === 0 ? argumentParts(of) : leafParts(own)).map(keyed);
    if (all.length + shown.length === 0) {
      return (
        <p class="quiet">
          None. <SeenEnd />
        </p>
      );
    }
    const folded = mayFold ? all.filter(({ key }) => wasSeen(key)) : [];
    const open = all.filter((one) => !folded.includes(one));
    return (
      <>
        {open.length > 0 && <Parts of={open} />}
        {folded.length > 0 && (
          <Folded what={`${counted(folded.length, 'part')} that you saw before and nobody changed`}>
            <Parts of={folded} />
          </Folded>
        )}
        {shown.length > 0 && (
          <Folded what={`${counted(shown.length, 'more value')} that the diff stands for`}>
            <Parts of={leafParts(shown).map(keyed)} />
          </Folded>
        )}
      </>
    );
  }, [of, plan, mayFold]);
}

function keyed(part: ArgumentsPart) {
  return { part, key: JSON.stringify(part) };
}

function Parts({ of }: { of: readonly { part: ArgumentsPart; key: string }[] }) {
  return (
    <div class="leaves">
      {of.map(({ part, key }) => (
        <SeenPart
          key={key}
          lines={'rows' in part ? part.rows.length : part.leaves.length}
          of={key}
          draw={() =>
            'rows' in part ? (
              <RowsView {...part} />
            ) : (
              <dl>
                {part.leaves.map((leaf, at) => (
                  <LeafView key={leaf.path} leaf={leaf} before={part.leaves[at - 1]} />
                ))}
              </dl>
            )
          }
        />
      ))}
    </div>
  );
}

/** Some rows of a list of like objects. On a narrow screen each cell names its column. */
function RowsView({ name, columns, rows, from }: Rows) {
  return (
    <table class="rows-of">
      <thead>
        <tr>
          <th scope="col">
            <Text of={name} />
          </th>
          {columns.map((column) => (
            <th scope="col" key={column}>
              <Text of={column} />
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            <th scope="row">#{from + at}</th>
            {row.map((value, index) => (
              <td key={index} class={typeof value === 'string' ? 'text' : 'other'}>
                <span class="cell-name" aria-hidden="true">
                  <Text of={columns[index] ?? ''} />
                </span>
                {value === undefined ? <span class="quiet">(absent)</span> : <Value of={value} />}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** What a person need not read again, folded up. What is in it does not count as seen. */
function Folded({ what, children }: { what: string; children: ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="shown-above" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{what}</summary>
      {isOpen && <WatchSeen report={() => undefined}>{children}</WatchSeen>}
    </details>
  );
}

/** What contains a leaf, by the leaf's name. */
function ownerOf({ name }: Leaf) {
  return name.slice(0, name.search(/(?:\\\.|[^.])*$/));
}

/** A value and its name. What contains it is named above the first of its values. */
function LeafView({ leaf, before }: { leaf: Leaf; before: Leaf | undefined }) {
  const { name, value } = leaf;
  const owner = ownerOf(leaf);
  const isFirst = before === undefined || ownerOf(before) !== owner;
  return (
    <div class="leaf">
      <dt>
        {isFirst && owner !== '' && (
          <span class="owner">
            <Text of={owner.slice(0, -1)} />
          </span>
        )}
        <span class={owner === '' ? undefined : 'owned'}>
          <Text of={name.slice(owner.length)} />
        </span>
      </dt>
      <dd class={typeof value === 'string' ? 'text' : 'other'}>
        <Value of={value} />
      </dd>
    </div>
  );
}

function Value({ of }: { of: Json }) {
  if (of === '') return <span class="quiet">(empty text)</span>;
  if (typeof of !== 'string') return <code>{JSON.stringify(of)}</code>;
  const isBlock = of.includes('\n');
  return (
    <span class={isBlock ? 'code block' : 'code'}>
      {isLong(of) ? (
        <SeenText of={of} layout={isBlock ? 'block' : 'line'} />
      ) : (
        <Text of={of} layout={isBlock ? 'block' : 'line'} />
      )}
    </span>
  );
}

/** The differences between two sets of arguments, word by word. */
export function Changes({ before, after }: { before: JsonObject; after: JsonObject }) {
  const changes = changesOf(before, after);
  if (changes.length === 0) return <p class="quiet">Nothing differs.</p>;
  return (
    <dl class="leaves changes">
      {changes.map(({ path, name, kind, parts }) => (
        <div key={path} class="leaf">
          <dt>
            <Text of={name} />
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

function PartView({ kind, text }: ReturnType<typeof changesOf>[number]['parts'][number]) {
  const shown = <Text of={text} layout="block" />;
  if (kind === 'removed') return <del>{shown}</del>;
  return kind === 'added' ? <ins>{shown}</ins> : shown;
}

/** What people said about a call, what a person changed, and the result of the call. */
export function Outcome({ call }: { call: CallView }) {
  const { answers, decisions, resolutions, result } = call;
  const isChanged = JSON.stringify(call.arguments) !== JSON.stringify(call.effective);
  return (
    <section class="outcome" aria-label={`Outcome of ${call.callId}`}>
      <ul class="said">
        {[...decisions, ...resolutions, ...answers].map((event) => (
          <DecisionLine key={event.eventId} {...{ event }} />
        ))}
      </ul>
      {call.grant !== undefined && (
        <p>
          <a href="#/grants">
            <Text of={grantText('Ran by ', call.grant)} />
          </a>
          , so nobody was asked.
        </p>
      )}
      {call.child !== undefined && (
        <p>
          It is the turn <TurnLink of={call.child} />
        </p>
      )}
      {isChanged && <Changes before={call.arguments} after={call.effective} />}
      {result && <Result result={result} call={call} />}
    </section>
  );
}

/** The output of the tool and, apart from it, the other text that the model reads. */
function Result({ result, call }: { result: ToolResult; call: CallView }) {
  const { durationMs, attempts = 1, note } = call;
  const output = outputOf(result, note);
  return (
    <>
      <h3>
        {resultTitle(call, result)}
        {durationMs !== undefined && <span class="quiet"> {span(durationMs)}</span>}
        {attempts > 1 && <span class="quiet"> {attempts} attempts</span>}
      </h3>
      {result.error && (
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

/**
 * The kinds of results of calls that did not run. A person, a rule or the time ended them, so the tool did not fail.
 */
const NOT_RUN: readonly ResultKind[] = ['denied', 'expired', 'refused', 'cancelled'];

function resultTitle({ outcome = 'done', resolvedBy }: CallView, result: ToolResult) {
  const [word] = describeOutcome(outcome);
  if (resolvedBy?.resolution === 'did-not') return 'It did not happen';
  if (NOT_RUN.includes(outcome)) return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
  if (!result.success) return word === 'failed' ? 'Failed' : `Failed: ${word}`;
  return result.metadata.late === true ? 'Result, late' : 'Result';
}

/** One decision, resolution or answer: its time, its content, the person and the reason. */
function DecisionLine({ event }: { event: DecisionMade | Resolved | Answered }) {
  const { judgement } = event;
  return (
    <li>
      <span class="quiet">{dateTime(event.at)}</span>{' '}
      <strong>
        <Text of={wordsBy(wordIn(event) ?? 'said something unreadable', event.approver)} />
      </strong>{' '}
      <span class="quiet">
        ({howKnown(event)}, <Text of={event.channel} />)
      </span>
      {event.type === 'decision' && <Text of={decisionDetails(event)} />}
      {event.reason !== undefined && ': '}
      {event.reason !== undefined && <Text of={event.reason} kind="prose" />}
      {judgement.accepted === false && <span class="chip bad">refused: {judgement.code}</span>}
    </li>
  );
}

/**
 * The preview of a call that was decided, with the hunks that a person approved. `level` is the level of its heading.
 */
export function DecidedPreview({ call, level }: { call: CallView; level: 2 | 3 }) {
  const preview = call.request?.preview;
  if (preview === undefined) return null;
  const approved = approvedHunks(call);
  const Heading = `h${level}` as const;
  const all = preview.plan?.hunks ?? [];
  return (
    <section aria-label={`What ${call.callId} does`}>
      <Heading>
        {call.result?.success === true ? 'What it did' : 'What it does'}
        {approved.length < all.length && (
          <span class="quiet">
            {' '}
            {approved.length} of {all.length} hunks approved
          </span>
        )}
      </Heading>
      <PreviewView preview={preview} ticked={approved} />
    </section>
  );
}
