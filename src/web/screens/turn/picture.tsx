import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { clock, span } from '../../../contract/times';
import type { TurnEvent } from '../../../history/events';
import { timelineOf, type Moment, type Row, type Stretch } from '../../model/timeline';
import { Text } from '../../parts/text';
import { visibleText } from '../../parts/visible-text';
import { useNow } from '../../state/use-now';

const KINDS: Readonly<Record<Stretch['kind'], string>> = {
  think: 'the model',
  wait: 'waits for a person',
  queue: 'approved, not started',
  run: 'runs',
  doubt: 'outcome unknown',
};
const SIGNS: Readonly<Record<Moment['kind'], string>> = {
  approved: '✓',
  denied: '✕',
  retried: '↻',
  lost: '?',
  failed: '!',
};

interface PictureProps {
  events: readonly TurnEvent[];
  isOpen: boolean;
  /** The moment that is looked at, ISO 8601; undefined: now. */
  cursor?: string | undefined;
}

/** The turn at a glance: a row for each step and call, time to the right. Long waits are drawn shorter than they were. */
export function Picture({ events, isOpen, cursor }: PictureProps): JSX.Element {
  const now = useNow(isOpen ? 1_000 : 3_600_000);
  const { rows, ticks, place } = useMemo(() => timelineOf(events, now), [events, isOpen ? now : 0]);
  return (
    <figure class="picture">
      <figcaption class="sr-only">Timeline</figcaption>
      <ol class="picture-rows">
        {rows.map((row) => (
          <RowView key={row.key} row={row} cursor={cursor === undefined ? undefined : place(cursor)} />
        ))}
      </ol>
      <div class="axis" aria-hidden="true">
        {ticks.map(({ at, iso }) => (
          <span key={iso} class={at > 0.9 ? 'last' : undefined} style={{ left: `${at * 100}%` }}>
            {clock(iso)}
          </span>
        ))}
      </div>
      <Legend />
    </figure>
  );
}

function RowView({ row, cursor }: { row: Row; cursor: number | undefined }): JSX.Element {
  const { key, kind, label, stretches, moments } = row;
  return (
    <li class={`picture-row of-${kind}`}>
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
          <span
            key={index}
            class={`moment ${moment.kind}`}
            style={{ left: `${moment.at * 100}%` }}
            role="img"
            aria-label={visibleText(moment.label)}
            title={visibleText(moment.label)}
          >
            {SIGNS[moment.kind]}
          </span>
        ))}
      </span>
    </li>
  );
}

function Bar({ kind, left, width, ms, open, failed }: Stretch): JSX.Element {
  const words = `${KINDS[kind]} ${span(ms)}${open ? ' so far' : ''}${failed ? ', failed' : ''}`;
  return (
    <span
      class={`bar ${kind}${open ? ' open' : ''}${failed ? ' failed' : ''}`}
      style={{ left: `${left * 100}%`, width: `${width * 100}%` }}
      role="img"
      aria-label={words}
      title={words}
    >
      {width > 0.08 && <span class="bar-words">{span(ms)}</span>}
    </span>
  );
}

function Legend(): JSX.Element {
  return (
    <ul class="legend" aria-hidden="true">
      {Object.entries(KINDS).map(([kind, words]) => (
        <li key={kind}>
          <span class={`bar ${kind}`} /> {words}
        </li>
      ))}
    </ul>
  );
}
