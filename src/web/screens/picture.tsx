import { useMemo } from 'preact/hooks';
import { clock, day, span } from '../../contract/text/times';
import type { TurnEvent } from '../../history/events';
import { Text, visibleText } from '../ui/text';
import { hrefOf } from '../model/route';
import { layOutTimeline, type Row } from '../model/timeline';
import { useNow } from '../ui/app';

const SIGNS: Readonly<Record<Row['moments'][number]['kind'], string>> = {
  approved: '✓',
  denied: '✕',
  said: '…',
  retried: '↻',
  lost: '?',
  failed: '!',
};

interface PictureProps {
  turn: string;
  events: readonly TurnEvent[];
  isOpen: boolean;
  /** The moment to show, as ISO 8601. Undefined: now. */
  cursor?: string;
  /** Brings a step or a call into view. */
  show: (step: string) => void;
}

/** The turn at a glance: a row for each step and call, with time from left to right. Long waits are drawn shorter. */
export function Picture({ turn, events, isOpen, cursor, show }: PictureProps) {
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
function isNewDay(ticks: readonly { iso: string }[], index: number) {
  const [before, tick] = [ticks[index - 1], ticks[index]];
  return tick !== undefined && (before === undefined || day(before.iso) !== day(tick.iso));
}

interface RowProps extends Pick<PictureProps, 'turn' | 'show'> {
  row: Row;
  cursor: number | undefined;
}

/** A row, which is a link to its step or call below. */
function RowView({ turn, row, cursor, show }: RowProps) {
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

function Sign({ kind, at, label }: Row['moments'][number]) {
  const text = visibleText(label);
  return (
    <span class={`moment ${kind}`} style={{ left: `${at * 100}%` }} role="img" aria-label={text} title={text}>
      {SIGNS[kind]}
    </span>
  );
}

function Bar({ kind, left, width, ms, open, failed }: Row['stretches'][number]) {
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

/** The label of each kind of stretch in the timeline. */
const STRETCH_LABELS: Readonly<Record<Row['stretches'][number]['kind'], string>> = {
  think: 'the model',
  wait: 'waits for a person',
  queue: 'approved, not started',
  run: 'runs',
  doubt: 'outcome unknown',
};
