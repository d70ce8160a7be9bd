import { Button } from '../ui/widgets';
import { useMemo } from 'preact/hooks';
import { dateTime } from '../../contract/text/times';
import { describeEvent } from '../../history/describe';
import type { TurnEvent } from '../../history/events';
import { stopsOf } from '../../history/moment';
import { Text, visibleText } from '../ui/text';

interface ScrubberProps {
  events: readonly TurnEvent[];
  /** The number of events of the shown turn. Undefined: the turn as it is now. */
  count: number | undefined;
  choose: (count: number | undefined) => void;
}

/**
 * Goes through a turn event by event. The arrow keys move the position. The last position shows the turn as it is now.
 */
export function Scrubber({ events, count, choose }: ScrubberProps) {
  const stops = useMemo(() => stopsOf(events), [events]);
  const last = stops.length - 1;
  const found = count === undefined ? last : stops.findIndex((stop) => stop >= count);
  const place = found === -1 ? last : found;
  const goTo = (index: number) => choose(index >= last ? undefined : stops[Math.max(index, 0)]);
  const shown = events[(stops[place] ?? 0) - 1];
  const told = shown && describeEvent(shown);
  const text = told ? `${dateTime(shown.at)}, ${told.label}: ${told.text}` : '';
  const isLive = count === undefined;
  return (
    <section class={`scrubber${isLive ? '' : ' past'}`} aria-label="Look back">
      <Button aria-label="One event back" onClick={() => goTo(place - 1)}>
        ‹
      </Button>
      <input
        type="range"
        min={0}
        max={last}
        value={place}
        aria-label="Event"
        aria-valuetext={visibleText(text)}
        onInput={({ currentTarget }) => goTo(Number(currentTarget.value))}
      />
      <Button aria-label="One event on" disabled={isLive} onClick={() => goTo(place + 1)}>
        ›
      </Button>
      <Button look="live" aria-pressed={isLive} onClick={() => choose(undefined)}>
        Now
      </Button>
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
