import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { span } from '../../../contract/times';
import type { StepView, TurnView } from '../../../history/view-types';
import { useTurn, type LiveTurn } from '../../api/use-turn';
import { stateWords } from '../../model/words';
import { Chip } from '../../parts/chip';
import { Text } from '../../parts/text';
import { useNow } from '../../state/use-now';
import { TwoPaths } from '../fork/two-paths';
import { CallCard } from './call-card';
import { CancelTurn } from './cancel';
import { MomentView } from './moment';
import { Picture } from './picture';
import { Running } from './running';
import { Scrubber } from './scrubber';

/** A turn as it is: its picture, its steps, its result. Live until it ends. */
export function TurnScreen({ turn }: { turn: string }): JSX.Element {
  const live = useTurn(turn);
  const { view, events } = live;
  const [count, setCount] = useState<number>();
  if (view === undefined) return <p class="empty">Reading the turn …</p>;
  return (
    <article class="turn" aria-labelledby="turn-title">
      <TurnHead view={view} />
      <Picture
        events={events}
        isOpen={view.endedAt === null}
        cursor={count === undefined ? undefined : events[count - 1]?.at}
      />
      <Scrubber events={events} count={count} choose={setCount} />
      {count === undefined ? <Now view={view} live={live} /> : <MomentView events={events} count={count} />}
    </article>
  );
}

/** How it is now: what runs, its result, its steps. */
function Now({ view, live: { events, pending } }: { view: TurnView; live: LiveTurn }): JSX.Element {
  return (
    <>
      {pending !== undefined && view.endedAt === null && <Running pending={pending} />}
      <Result view={view} />
      {view.fork !== undefined && <TwoPaths fork={view.fork} events={events} />}
      <ol class="steps">
        {view.steps.map((step) => (
          <StepCard key={step.step} step={step} view={view} />
        ))}
      </ol>
    </>
  );
}

function TurnHead({ view }: { view: TurnView }): JSX.Element {
  const now = useNow();
  const [words, tone] = stateWords(view.status);
  const took = Date.parse(view.endedAt ?? new Date(now).toISOString()) - Date.parse(view.startedAt);
  const decided = view.calls.filter(({ decisions }) => decisions.length > 0).length;
  return (
    <header class="turn-head">
      <p class="crumbs">
        <Text of={view.agent} />
        <code>
          <Text of={view.turn} />
        </code>
      </p>
      <h1 id="turn-title">
        <Text of={view.prompt} layout="block" />
      </h1>
      <p class="turn-facts">
        <Chip tone={tone}>{words}</Chip> {span(took)} · {count(view.steps.length, 'step')} ·{' '}
        {count(view.calls.length, 'call')} · {decided} decided
        {view.endedAt === null && <CancelTurn view={view} />}
      </p>
    </header>
  );
}

function Result({ view }: { view: TurnView }): JSX.Element | null {
  const { answer, error } = view;
  if (answer === undefined && error === undefined) return null;
  return (
    <section class={`result ${error === undefined ? 'good' : 'bad'}`} aria-labelledby="result-title">
      <h2 id="result-title">{error === undefined ? 'Answer' : 'It ended without an answer'}</h2>
      <p class="prose">
        <Text of={answer ?? error?.message ?? ''} layout="block" />
      </p>
    </section>
  );
}

function StepCard({ step, view }: { step: StepView; view: TurnView }): JSX.Element {
  const calls = view.calls.filter(({ callId }) => step.callIds.includes(callId));
  const [isOpen, setOpen] = useState<string>();
  return (
    <li class="step" id={`step-${step.step}`}>
      <h2>
        Step {step.step} <span class="quiet">{step.model}</span>
      </h2>
      {step.text.trim() !== '' && step.text !== view.answer && (
        <figure class="model">
          <figcaption>The model says</figcaption>
          <blockquote>
            <Text of={step.text.trim()} layout="block" />
          </blockquote>
        </figure>
      )}
      {calls.map((call) => (
        <CallCard
          key={call.callId}
          turn={view.turn}
          call={call}
          isOpen={isOpen === call.callId}
          toggle={() => setOpen(isOpen === call.callId ? undefined : call.callId)}
        />
      ))}
    </li>
  );
}

function count(n: number, what: string): string {
  return `${n} ${what}${n === 1 ? '' : 's'}`;
}
