import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { counted, describeActivity, describeState, failingTaskText } from '../../../history/labels';
import { span } from '../../../contract/text/times';
import type { CallView, StepView, TurnView } from '../../../history/view-types';
import { type LiveTurn, useTurn } from '../../live';
import { type CallFilter, callFits } from '../../model/timeline';
import { Chip, Select } from '../../ui/widgets';
import { Text } from '../../ui/text';
import { useAppContext, useNow } from '../../ui/app';
import { TwoPaths } from './two-paths';
import { CallCard } from './call-card';
import { MomentView, Picture, Scrubber } from './timeline';
import { cancelTurn } from '../../http';
import { errorText } from '../../model/labels';
import { hrefOf } from '../../model/route';
import type { Pending, PendingActivity } from '../../../client/types';

/** A turn with its picture, steps and result. Live until it ends. */
export function TurnScreen({ turn, step }: { turn: string; step: string | undefined }): JSX.Element {
  const live = useTurn(turn);
  const { view, events, problem } = live;
  const [count, setCount] = useState<number>();
  const [shown, setShown] = useState<Place>();
  const show = (place: string): void => {
    setCount(undefined);
    setShown({ place });
  };
  useEffect(() => (step === undefined ? undefined : show(step)), [step]);
  if (view === undefined) return <Unread live={live} />;
  return (
    <article class="turn" aria-labelledby="turn-title">
      {problem !== undefined && (
        <p class="banner bad" role="alert">
          <Text of={errorText(problem)} />
        </p>
      )}
      <TurnHead view={view} />
      {view.fork !== undefined && count === undefined && <TwoPaths fork={view.fork} events={events} />}
      <Picture
        {...{ turn, events, show }}
        isOpen={view.endedAt === null}
        cursor={count === undefined ? undefined : events[count - 1]?.at}
      />
      <Scrubber events={events} count={count} choose={setCount} />
      {count === undefined ? (
        <Now view={view} live={live} shown={shown} />
      ) : (
        <MomentView events={events} count={count} />
      )}
    </article>
  );
}

/** What a person asked to see; a new object each time, so that the same place can be asked for again. */
interface Place {
  /** A step or a call: `3`, `3.1`. */
  place: string;
}

interface NowProps {
  view: TurnView;
  live: LiveTurn;
  shown: Place | undefined;
}

/** In place of a turn that has not come yet, or does not come. */
function Unread({ live: { events, problem } }: { live: LiveTurn }): JSX.Element {
  if (problem === undefined) {
    const far = events.length === 0 ? '' : ` ${counted(events.length, 'event')} so far.`;
    return <h1 class="empty">Reading the turn …{far}</h1>;
  }
  const isGone = problem.code === 'turn_not_found';
  return (
    <div class="empty" role="alert">
      <h1 class="pane-title">{isGone ? 'There is no such turn' : 'The turn cannot be read'}</h1>
      <p>
        <Text of={errorText(problem)} />
      </p>
      {isGone && (
        <p>Perhaps it was deleted: the server keeps a turn that has ended only for its retention time.</p>
      )}
      <p>
        <a href={hrefOf({ at: 'turns' })}>All turns</a>
      </p>
    </div>
  );
}

/** The current state: what runs, the result, the steps. */
function Now({ view, live: { events, pending }, shown }: NowProps): JSX.Element {
  return (
    <>
      {pending !== undefined && view.endedAt === null && <Running pending={pending} />}
      <Result view={view} />
      <Steps view={view} shown={shown} />
    </>
  );
}

function TurnHead({ view }: { view: TurnView }): JSX.Element {
  const now = useNow();
  const took = Date.parse(view.endedAt ?? new Date(now).toISOString()) - Date.parse(view.startedAt);
  const decided = view.calls.filter(({ decisions }) => decisions.length > 0).length;
  return (
    <header class="turn-head">
      <p class="crumbs">
        <Text of={view.agent} />
        <code>
          <Text of={view.turn} />
        </code>
        {view.fork !== undefined && (
          <span>
            fork of{' '}
            <a href={hrefOf({ at: 'turn', turn: view.fork.of })}>
              <Text of={view.fork.of} />
            </a>{' '}
            from {view.fork.from} on
          </span>
        )}
      </p>
      <h1 id="turn-title">
        <Text of={view.prompt} layout="block" kind="prose" />
      </h1>
      <p class="turn-facts">
        <Chip of={describeState(view.status)} /> {span(took)} · {counted(view.steps.length, 'step')} ·{' '}
        {counted(view.calls.length, 'call')} · {decided} decided
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
        {answer === '' ? (
          <span class="quiet">The model had nothing more to say.</span>
        ) : (
          <Text of={answer ?? error?.message ?? ''} layout="block" kind="prose" />
        )}
      </p>
    </section>
  );
}

const FILTERS = [
  ['all', 'every call'],
  ['failed', 'failures'],
  ['decided', 'what people decided'],
] as const;

/** The steps with their calls: all, the failures, or what people decided. */
function Steps({ view, shown }: Pick<NowProps, 'view' | 'shown'>): JSX.Element {
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

/** Brings a step or a call to the top, and the keyboard with it. */
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
        Step {step.step} <span class="quiet">{step.model}</span>
      </h2>
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

/** The two ways to end a turn. */
const WAYS = {
  cancel: {
    offer: 'Cancel the turn',
    means: 'Its requests are closed and nothing more starts. What runs is waited for.',
    does: 'Cancel it',
    notice: 'The turn was asked to end.',
    body: {},
  },
  abandon: {
    offer: 'Give it up',
    means: 'It ends although a call is in doubt, which stays on record as unresolved.',
    does: 'Give it up',
    notice: 'The turn is given up.',
    body: { abandon: true },
  },
} as const;

/** Cancels a turn after a confirmation. A turn that was cancelled already and has a call in doubt can be abandoned. */
function CancelTurn({ view }: { view: TurnView }): JSX.Element {
  const { notify, fail } = useAppContext();
  const [isAsked, setAsked] = useState(false);
  const way = WAYS[view.cancelRequested ? 'abandon' : 'cancel'];
  const act = async (): Promise<void> => {
    setAsked(false);
    const reply = await cancelTurn(view.turn, way.body);
    if (!reply.ok) return fail(reply.status, reply.error);
    notify({ text: way.notice, tone: 'quiet' });
  };
  if (view.cancelRequested && view.inDoubt.length === 0)
    return <span class="chip quiet">was asked to end</span>;
  if (!isAsked) {
    return (
      <button class="button plain" type="button" onClick={() => setAsked(true)}>
        {way.offer}
      </button>
    );
  }
  return (
    <span class="confirm">
      {way.means}{' '}
      <button class="button danger" type="button" onClick={() => void act()}>
        {way.does}
      </button>{' '}
      <button class="button plain" type="button" onClick={() => setAsked(false)}>
        Keep it
      </button>
    </span>
  );
}

/** What runs now, queues without a worker, and why the turn does not go on. */
function Running({ pending }: { pending: Pending }): JSX.Element | null {
  const now = useNow();
  const { failingTask, activities, idleQueues } = pending;
  if (failingTask === undefined && activities.length + idleQueues.length === 0) return null;
  return (
    <section class="running" aria-label="Right now">
      {idleQueues.map((queue) => (
        <p key={queue} class="banner ask">
          No worker takes work from the queue{' '}
          <code>
            <Text of={queue} />
          </code>
          . Start one with <code>countersign worker</code>.
        </p>
      ))}
      {failingTask !== undefined && (
        <p class="banner ask">
          This turn stands still: <Text of={failingTaskText(failingTask)} />
        </p>
      )}
      <ul>
        {activities.map((activity) => (
          <ActivityLine key={`${activity.what}${activity.callId ?? ''}`} {...{ activity, now }} />
        ))}
      </ul>
    </section>
  );
}

function ActivityLine({ activity, now }: { activity: PendingActivity; now: number }): JSX.Element {
  const { callId, name } = activity;
  return (
    <li>
      <span class="pulse" aria-hidden="true" /> {callId}{' '}
      <code>
        <Text of={callId === undefined ? 'the model' : name} />
      </code>{' '}
      <Text of={describeActivity(activity, now)} />
    </li>
  );
}
