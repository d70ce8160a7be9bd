import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { counted, describeUsage } from '../../../history/labels';
import type { CallView, StepView, TurnView } from '../../../history/view-types';
import { type CallFilter, callFits } from '../../model/timeline';
import { Text } from '../../ui/text';
import { Select } from '../../ui/widgets';
import { CallCard } from './call-card';

/**
 * The place that a person asked to see. It is a new object each time, so that the same place can be asked for again.
 */
export interface Place {
  /** A step or a call: `3`, `3.1`. */
  place: string;
}

const FILTERS = [
  ['all', 'every call'],
  ['failed', 'failures'],
  ['decided', 'what people decided'],
] as const;

/** The steps with their calls: all calls, the failures, or the calls that people decided. */
export function Steps({ view, shown }: { view: TurnView; shown: Place | undefined }): JSX.Element {
  const [filter, setFilter] = useState<CallFilter>('all');
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    if (shown === undefined) return;
    setFilter('all');
    setOpen((ids) => new Set([...ids, shown.place]));
    const frame = requestAnimationFrame(() => focusOn(shown.place));
    return () => cancelAnimationFrame(frame);
  }, [shown, view.calls.length]);
  const fitting = view.calls.filter((call) => callFits(call, filter));
  const isAllOpen = fitting.length > 0 && fitting.every(({ callId }) => open.has(callId));
  const toggle = (callId: string): void =>
    setOpen((ids) => new Set(ids.has(callId) ? [...ids].filter((id) => id !== callId) : [...ids, callId]));
  return (
    <section class="steps" aria-label="Steps">
      {view.calls.length > 1 && (
        <div class="steps-head">
          <Select
            id="calls"
            label="Calls"
            value={filter}
            options={FILTERS}
            choose={(value) => setFilter(FILTERS.find(([key]) => key === value)?.[0] ?? 'all')}
          />
          <span class="quiet" role="status">
            {filter !== 'all' && `${fitting.length} of ${counted(view.calls.length, 'call')}`}
          </span>
          <button
            class="button"
            type="button"
            disabled={fitting.length === 0}
            onClick={() => setOpen(new Set(isAllOpen ? [] : fitting.map(({ callId }) => callId)))}
          >
            {isAllOpen ? 'Close all' : 'Open all'}
          </button>
        </div>
      )}
      <ol>
        {view.steps.map((step) => {
          const calls = fitting.filter(({ callId }) => step.callIds.includes(callId));
          if (filter !== 'all' && calls.length === 0) return null;
          return <StepCard key={step.step} {...{ step, view, calls, open, toggle }} />;
        })}
      </ol>
    </section>
  );
}

/** Scrolls to a step or a call, and moves the focus there. */
function focusOn(place: string): void {
  const found = document.getElementById(place.includes('.') ? `call-${place}` : `step-${place}`);
  found?.scrollIntoView({ block: 'start' });
  found?.focus({ preventScroll: true });
}

interface StepProps {
  step: StepView;
  view: TurnView;
  calls: readonly CallView[];
  /** Ids of the calls that are open. */
  open: ReadonlySet<string>;
  toggle: (callId: string) => void;
}

function StepCard({ step, view, calls, open, toggle }: StepProps): JSX.Element {
  return (
    <li class="step" id={`step-${step.step}`} tabIndex={-1}>
      <h2>
        Step {step.step}{' '}
        <span class="quiet">
          {[step.model, describeUsage(step.usage)].filter((text) => text !== '').join(' · ')}
        </span>
      </h2>
      {step.context !== undefined && (
        <details class="model">
          <summary>The context that the model was given</summary>
          <blockquote>
            <Text of={step.context} layout="block" kind="prose" />
          </blockquote>
        </details>
      )}
      {step.text.trim() !== '' && step.text !== view.answer && (
        <figure class="model">
          <figcaption>The model says</figcaption>
          <blockquote>
            <Text of={step.text.trim()} layout="block" kind="prose" />
          </blockquote>
        </figure>
      )}
      {calls.map((call) => (
        <CallCard
          key={call.callId}
          turn={view.turn}
          call={call}
          isOpen={open.has(call.callId)}
          toggle={() => toggle(call.callId)}
        />
      ))}
    </li>
  );
}
