import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { describePhase, describeState } from '../../../history/labels';
import { clock, dateTime, day, span } from '../../../contract/text/times';
import type { TranscriptEntry } from '../../../contract/transcript';
import type { TurnEvent } from '../../../history/events';
import { stateAfter, stopsOf } from '../../../history/moment';
import { callSummary } from '../../../contract/text/call-summary';
import type { CallView, TurnView } from '../../../history/view-types';
import { Chip } from '../../ui/widgets';
import { Text, visibleText } from '../../ui/text';
import { ArgumentsView } from '../call/content';
import { describeEvent } from '../../../history/describe';
import { hrefOf } from '../../model/route';
import { layOutTimeline, type Moment, type Row, type Stretch } from '../../model/timeline';
import { STRETCH_LABELS } from '../../model/labels';
import { useNow } from '../../ui/app';
import { CallName, isWaiting } from './call-card';

const SIGNS: Readonly<Record<Moment['kind'], string>> = {
  approved: '✓',
  denied: '✕',
  retried: '↻',
  lost: '?',
  failed: '!',
};

interface PictureProps {
  turn: string;
  events: readonly TurnEvent[];
  isOpen: boolean;
  /** The moment that is shown, ISO 8601; undefined: now. */
  cursor?: string | undefined;
  /** Brings a step or a call into view. */
  show: (step: string) => void;
}

/** The turn at a glance: a row for each step and call, time to the right. Long waits are drawn shorter. */
export function Picture({ turn, events, isOpen, cursor, show }: PictureProps): JSX.Element {
  const now = useNow(isOpen ? 1_000 : 3_600_000);
  const { rows, ticks, place } = useMemo(() => layOutTimeline(events, now), [events, isOpen ? now : 0]);
  return (
    <figure class="picture">
      <figcaption class="sr-only">Timeline</figcaption>
      <div class="picture-scroll">
        <ol class="picture-rows">
          {rows.map((row) => (
            <RowView
              key={row.key}
              {...{ turn, row, show }}
              cursor={cursor === undefined ? undefined : place(cursor)}
            />
          ))}
        </ol>
        <div class="axis" aria-hidden="true">
          {ticks.map(({ at, iso }, index) => (
            <span key={iso} class={at > 0.9 ? 'last' : undefined} style={{ left: `${at * 100}%` }}>
              {clock(iso)}
              {isNewDay(ticks, index) && <span class="day">{day(iso)}</span>}
            </span>
          ))}
        </div>
      </div>
      <ul class="legend" aria-hidden="true">
        {Object.entries(STRETCH_LABELS).map(([kind, text]) => (
          <li key={kind}>
            <span class={`bar ${kind}`} /> {text}
          </li>
        ))}
      </ul>
    </figure>
  );
}

/** Whether a tick is on another day than the one before it. */
function isNewDay(ticks: readonly { iso: string }[], index: number): boolean {
  const [before, tick] = [ticks[index - 1], ticks[index]];
  return tick !== undefined && (before === undefined || day(before.iso) !== day(tick.iso));
}

interface RowProps extends Pick<PictureProps, 'turn' | 'show'> {
  row: Row;
  cursor: number | undefined;
}

/** A row leads to its step or call below. */
function RowView({ turn, row, cursor, show }: RowProps): JSX.Element {
  const { key, kind, step, label, stretches, moments } = row;
  return (
    <li class={`of-${kind}`}>
      <a class="picture-row" href={hrefOf({ at: 'turn', turn, step })} onClick={() => show(step)}>
        <span class="picture-label">
          {kind === 'call' && <span class="quiet">{key} </span>}
          <Text of={label} />
        </span>
        <span class="track">
          {stretches.map((stretch, index) => (
            <Bar key={index} {...stretch} />
          ))}
          {cursor !== undefined && <span class="cursor" style={{ left: `${cursor * 100}%` }} />}
          {moments.map((moment, index) => (
            <Sign key={index} {...moment} />
          ))}
        </span>
      </a>
    </li>
  );
}

function Sign({ kind, at, label }: Moment): JSX.Element {
  const text = visibleText(label);
  return (
    <span class={`moment ${kind}`} style={{ left: `${at * 100}%` }} role="img" aria-label={text} title={text}>
      {SIGNS[kind]}
    </span>
  );
}

function Bar({ kind, left, width, ms, open, failed }: Stretch): JSX.Element {
  const text = `${STRETCH_LABELS[kind]} ${span(ms)}${open ? ' so far' : ''}${failed ? ', failed' : ''}`;
  return (
    <span
      class={`bar ${kind}${open ? ' open' : ''}${failed ? ' failed' : ''}`}
      style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
      role="img"
      aria-label={text}
      title={text}
    >
      {width > 0.08 && <span class="bar-words">{span(ms)}</span>}
    </span>
  );
}

/** The turn after its first events: its open requests, its calls, and what the model knew. Nothing can be decided here. */
export function MomentView({ events, count }: { events: readonly TurnEvent[]; count: number }): JSX.Element {
  const { view, transcript, at, eventId } = useMemo(() => stateAfter(events, count), [events, count]);
  const { entries, known } = transcript;
  const after = span(Date.parse(at) - Date.parse(view.startedAt));
  return (
    <section class="moment-view" aria-labelledby="moment-title">
      <header class="section-head">
        <h2 id="moment-title">
          As it was at event #{eventId} <span class="quiet">{after} after its start</span>
        </h2>
        <Chip of={describeState(view.status)} />
      </header>
      <Open view={view} />
      <Messages title="The model knew" entries={entries.slice(0, known)} />
      {entries.length > known && <Messages title="Since then" entries={entries.slice(known)} />}
    </section>
  );
}

/** The requests that were open, and the other calls of the unfinished step. */
function Open({ view }: { view: TurnView }): JSX.Element | null {
  const last = view.steps.at(-1)?.step;
  const calls = view.endedAt === null ? view.calls.filter(({ step }) => step === last) : [];
  if (calls.length === 0) return null;
  return (
    <>
      <h3>Its open step</h3>
      <ul class="moment-calls">
        {calls.map((call) => (
          <OpenCall key={call.callId} call={call} />
        ))}
      </ul>
    </>
  );
}

function OpenCall({ call }: { call: CallView }): JSX.Element {
  return (
    <li>
      <p class="call-line">
        <CallName {...call} /> <Chip of={describePhase(call)} />
      </p>
      {isWaiting(call) && <ArgumentsView of={call.effective} />}
    </li>
  );
}

interface MessagesProps {
  title: string;
  entries: readonly TranscriptEntry[];
}

function Messages({ title, entries }: MessagesProps): JSX.Element {
  return (
    <>
      <h3>{title}</h3>
      {entries.length === 0 && <p class="quiet">Nothing: it had not been asked.</p>}
      <ol class="messages">
        {entries.map((entry, index) => (
          <Message key={index} entry={entry} />
        ))}
      </ol>
    </>
  );
}

const WHO = { words: 'The user', reply: 'The model', result: 'Result' } as const;

function Message({ entry }: { entry: TranscriptEntry }): JSX.Element {
  const text = entry.kind === 'result' ? entry.content : entry.text;
  return (
    <li class={`message of-${entry.kind}`}>
      <span class="who-said">
        {WHO[entry.kind]}
        {entry.kind === 'result' && ` of ${entry.callId}`}
        {entry.kind === 'result' && !entry.success && <Chip of={['error', 'bad']} />}
      </span>
      <div class="said-text">
        {text.trim() !== '' && (
          <p class={entry.kind === 'result' ? 'code block' : 'prose'}>
            <Text of={text.trimEnd()} layout="block" kind={entry.kind === 'result' ? 'exact' : 'prose'} />
          </p>
        )}
        {entry.kind === 'reply' &&
          entry.calls.map((call) => (
            <p key={call.callId} class="code">
              → <Text of={callSummary(call)} />
            </p>
          ))}
      </div>
    </li>
  );
}

interface ScrubberProps {
  events: readonly TurnEvent[];
  /** The turn is shown after this many events; undefined: as it is now. */
  count: number | undefined;
  choose: (count: number | undefined) => void;
}

/** Goes through a turn event by event; the arrow keys move it, and the last position is now. */
export function Scrubber({ events, count, choose }: ScrubberProps): JSX.Element {
  const stops = useMemo(() => stopsOf(events), [events]);
  const last = stops.length - 1;
  const found = count === undefined ? last : stops.findIndex((stop) => stop >= count);
  const place = found === -1 ? last : found;
  const goTo = (index: number): void => choose(index >= last ? undefined : stops[Math.max(index, 0)]);
  const shown = events[(stops[place] ?? 0) - 1];
  const text = shown === undefined ? '' : eventText(shown);
  const isLive = count === undefined;
  return (
    <section class={`scrubber${isLive ? '' : ' past'}`} aria-label="Look back">
      <button class="button" type="button" aria-label="One event back" onClick={() => goTo(place - 1)}>
        ‹
      </button>
      <input
        type="range"
        min={0}
        max={last}
        value={place}
        aria-label="Event"
        aria-valuetext={visibleText(text)}
        onInput={({ currentTarget }) => goTo(Number(currentTarget.value))}
      />
      <button
        class="button"
        type="button"
        aria-label="One event on"
        disabled={isLive}
        onClick={() => goTo(place + 1)}
      >
        ›
      </button>
      <button class="button live" type="button" aria-pressed={isLive} onClick={() => choose(undefined)}>
        Now
      </button>
      <p class="scrubber-words">
        {isLive ? (
          <span class="quiet">Move back to see what was open and what the model knew at an event.</span>
        ) : (
          <>
            <span class="quiet">
              {place + 1} of {last + 1} ·
            </span>{' '}
            <Text of={text} />
          </>
        )}
      </p>
    </section>
  );
}

function eventText(event: TurnEvent): string {
  const { label, text } = describeEvent(event);
  return `${dateTime(event.at)}, ${label}: ${text}`;
}
