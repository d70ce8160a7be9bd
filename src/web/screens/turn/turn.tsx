import { useEffect, useState, useRef } from 'preact/hooks';
import {
  counted,
  describeState,
  describeTokens,
  describeActivity,
  failingTaskText,
  describeUsage,
} from '../../../history/labels';
import { budgetText, spentText } from '../../../contract/spending/budget';
import { sumUsage } from '../../../contract/spending/usage';
import { span } from '../../../contract/text/times';
import type { TurnEvent } from '../../../history/events';
import type { TurnView, CallView, StepView } from '../../../history/view-types';
import { type Follower, type LiveText, useEvents, withDelta } from '../../live';
import { Button, Chip, Unreadable, useSure, Select, TurnLink } from '../../ui/widgets';
import { Code, Files, Text } from '../../ui/text';
import { Late, useAppContext, useNow, useTabTitle } from '../../ui/app';
import { Writing } from '../../ui/writing';
import { send, turnPath } from '../../http';
import { errorText } from '../../model/labels';
import { hrefOf } from '../../model/route';
import type { Pending, PendingActivity } from '../../../client/types';
import type { ApiError } from '../../../server/api';
import { type CallFilter, callFits } from '../../model/timeline';
import { CallCard } from './call-card';
import { viewOf } from '../../../history/view';

const TITLE_CHARACTERS = 80;

/** A turn with its picture, steps and result. The screen is live until the turn ends. */
export function TurnScreen({ turn, step }: { turn: string; step: string | undefined }) {
  const live = useTurn(turn);
  const { view, events, problem } = live;
  useTabTitle(view?.prompt.slice(0, TITLE_CHARACTERS));
  const [count, setCount] = useState<number>();
  const [shown, setShown] = useState<Place>();
  const show = (place: string) => {
    setCount(undefined);
    setShown({ place });
  };
  useEffect(() => (step === undefined ? undefined : show(step)), [step]);
  if (view === undefined) return <Unread live={live} />;
  return (
    <article class="turn" aria-labelledby="turn-title">
      {problem && (
        <p class="banner bad" role="alert">
          <Text of={errorText(problem)} />
        </p>
      )}
      <TurnHead view={view} />
      {view.fork !== undefined && count === undefined && <Paths fork={view.fork} events={events} />}
      <Late
        load={loadPicture}
        show={([{ Picture }, { Scrubber }]) => (
          <>
            <Picture
              {...{ turn, events, show }}
              isOpen={view.endedAt === null}
              cursor={count === undefined ? undefined : events[count - 1]?.at}
            />
            <Scrubber events={events} count={count} choose={setCount} />
          </>
        )}
      />
      {count === undefined ? (
        <Now view={view} live={live} shown={shown} />
      ) : (
        <Late load={loadMoment} show={({ MomentView }) => <MomentView events={events} count={count} />} />
      )}
    </article>
  );
}

interface NowProps {
  view: TurnView;
  live: LiveTurn;
  shown: Place | undefined;
}

/** Shown in place of a turn that has not come yet, or cannot be read. */
function Unread({ live: { events, problem } }: { live: LiveTurn }) {
  if (problem === undefined) {
    const far = events.length === 0 ? '' : ` ${counted(events.length, 'event')} so far.`;
    return <h1 class="empty">Reading the turn …{far}</h1>;
  }
  return (
    <Unreadable what="turn" problem={problem}>
      <p>Perhaps it was deleted: the server keeps a turn that has ended only for its retention time.</p>
    </Unreadable>
  );
}

/** The current state: running activities, the result, the steps. */
function Now({ view, live: { pending, text }, shown }: NowProps) {
  return (
    <>
      {pending && view.endedAt === null && <Running pending={pending} />}
      <Writing {...{ view, text, pending }} />
      <Result view={view} />
      <Steps view={view} shown={shown} />
    </>
  );
}

function TurnHead({ view }: { view: TurnView }) {
  const now = useNow();
  const took = Date.parse(view.endedAt ?? new Date(now).toISOString()) - Date.parse(view.startedAt);
  const decided = view.calls.filter(({ decisions }) => decisions.length > 0).length;
  const tokens = describeTokens(sumUsage(view.steps));
  return (
    <header class="turn-head">
      <p class="crumbs">
        <Text of={view.agent} />
        <Code of={view.turn} />
        {view.lineage?.map(({ turn, callId, agent }) => (
          <span key={turn}>
            part of{' '}
            <a href={hrefOf({ at: 'turn', turn })}>
              <Text of={`${turn}/${callId}`} />
            </a>{' '}
            of <Text of={agent} />
          </span>
        ))}
        {view.fork !== undefined && (
          <span>
            fork of <TurnLink of={view.fork.of} /> from {view.fork.from} on
          </span>
        )}
      </p>
      <h1 id="turn-title" tabIndex={-1}>
        <Text of={view.prompt} layout="block" kind="prose" />
      </h1>
      <Files of={view.files} />
      <p class="turn-facts">
        <Chip of={describeState(view.status)} /> {span(took)} · {counted(view.steps.length, 'step')} ·{' '}
        {counted(view.calls.length, 'call')} · {decided} decided
        {tokens !== '' && ` · ${tokens} tokens`}
        <Spending view={view} />
        {view.endedAt === null && <CancelTurn view={view} />}
      </p>
    </header>
  );
}

/** What a turn has spent, if the turn has a budget or a price. */
function Spending({ view: { budget, spent } }: { view: TurnView }) {
  const limits = budget ? budgetText(budget) : '';
  if (spent === undefined || (limits === '' && spent.money === undefined)) return null;
  return <> · {`spent ${spentText(spent)}${limits === '' ? '' : `; budget ${limits}`}`}</>;
}

function Result({ view }: { view: TurnView }) {
  const { answer, error } = view;
  if (answer === undefined && error === undefined) return null;
  return (
    <section class={`result ${error ? 'bad' : 'good'}`} aria-labelledby="result-title">
      <h2 id="result-title">{error ? 'It ended without an answer' : 'Answer'}</h2>
      <p class="prose">
        {answer === '' && error === undefined ? (
          <span class="quiet">The model had nothing more to say.</span>
        ) : (
          <Text of={error?.message ?? answer ?? ''} layout="block" kind="prose" />
        )}
      </p>
      {error && answer !== undefined && answer !== '' && (
        <p class="prose">
          <span class="quiet">What the model said last:</span>{' '}
          <Text of={answer} layout="block" kind="prose" />
        </p>
      )}
    </section>
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

/**
 * Cancels a turn after a confirmation. A turn that was already cancelled and still has a call in doubt can be
 * abandoned.
 */
function CancelTurn({ view }: { view: TurnView }) {
  const { notify, fail } = useAppContext();
  const now = view.cancelRequested ? 'abandon' : 'cancel';
  const way = WAYS[now];
  const act = async () => {
    document.getElementById('turn-title')?.focus();
    const reply = await send('POST', `${turnPath(view.turn)}/cancel`, { body: way.body });
    if (!reply.ok) return fail(reply);
    notify({ text: way.notice, tone: 'quiet' });
  };
  const sure = useSure(() => void act());
  const [asked, setAsked] = useState(now);
  const offer = (event: Event) => {
    setAsked(now);
    sure.ask(event);
  };
  if (view.cancelRequested && view.inDoubt.length === 0)
    return <span class="chip quiet">was asked to end</span>;
  const isAsked = sure.isAsked && asked === now;
  // One button offers and keeps, so that the focus of the keyboard stays.
  return (
    <span class="confirm">
      {isAsked ? (
        <>
          {way.means}{' '}
          <Button look="danger" onClick={sure.click}>
            {way.does}
          </Button>{' '}
        </>
      ) : (
        sure.isAsked && 'It was asked to end meanwhile. '
      )}
      <Button look="plain" onClick={isAsked ? sure.forget : offer}>
        {isAsked ? 'Keep it' : way.offer}
      </Button>
    </span>
  );
}

const loadPicture = () => Promise.all([import('../picture'), import('../scrubber')]);
const loadMoment = () => import('../moment');
const loadTwoPaths = () => import('../two-paths');

function Paths(props: { fork: NonNullable<TurnView['fork']>; events: readonly TurnEvent[] }) {
  return <Late load={loadTwoPaths} show={({ TwoPaths }) => <TwoPaths {...props} />} />;
}

/** The activities that run now, the task queues without a worker, and why the turn does not progress. */
function Running({ pending }: { pending: Pending }) {
  const now = useNow();
  const { failingTask, activities, idleQueues } = pending;
  if (failingTask === undefined && activities.length + idleQueues.length === 0) return null;
  return (
    <section class="running" aria-label="Right now">
      {idleQueues.map((queue) => (
        <p key={queue} class="banner ask">
          No worker takes work from the queue <Code of={queue} />. Start one with{' '}
          <code>countersign worker</code>.
        </p>
      ))}
      {failingTask && (
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

function ActivityLine({ activity, now }: { activity: PendingActivity; now: number }) {
  const { callId, name } = activity;
  return (
    <li>
      <span class="pulse" aria-hidden="true" /> {callId}{' '}
      <Code of={callId === undefined ? 'the model' : name} /> <Text of={describeActivity(activity, now)} />
    </li>
  );
}

/**
 * The place that a person asked to see. It is a new object each time, so that the same place can be asked for again.
 */
interface Place {
  /** A step or a call: `3`, `3.1`. */
  place: string;
}

const FILTERS = [
  ['all', 'every call'],
  ['failed', 'failures'],
  ['decided', 'what people decided'],
] as const;

/** The steps with their calls: all calls, the failures, or the calls that people decided. */
function Steps({ view, shown }: { view: TurnView; shown: Place | undefined }) {
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
  const toggle = (callId: string) =>
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
          <Button
            disabled={fitting.length === 0}
            onClick={() => setOpen(new Set(isAllOpen ? [] : fitting.map(({ callId }) => callId)))}
          >
            {isAllOpen ? 'Close all' : 'Open all'}
          </Button>
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
function focusOn(place: string) {
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

function StepCard({ step, view, calls, open, toggle }: StepProps) {
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

interface LiveTurn {
  events: readonly TurnEvent[];
  /** The turn. Undefined until all events so far have come: half a turn would look like a turn that still runs. */
  view?: TurnView;
  pending?: Pending;
  /** The text that the model writes now, or wrote last. */
  text?: LiveText;
  /** Why the turn cannot be read: the turn does not exist, or the server refuses. */
  problem?: ApiError;
}

const EMPTY: LiveTurn = { events: [] };

/**
 * Reads a turn from its start, and then follows it while the tab is visible. The id of an event is its place in the
 * turn, so an event that comes twice counts once.
 */
function useTurn(turn: string): LiveTurn {
  const byPlace = useRef(new Map<number, TurnEvent>()).current;
  return useEvents(turnPath(turn), EMPTY, (setState) => followTurn(byPlace, setState));
}

/** Follows a turn: adds its events by place, and sets the state. */
function followTurn(
  byPlace: Map<number, TurnEvent>,
  setState: (change: (last: LiveTurn) => LiveTurn) => void,
): Follower {
  const got: Omit<LiveTurn, 'problem'> = { events: [] };
  let isWhole = false;
  let isChanged = false;
  const whole = () => {
    isChanged ||= !isWhole;
    isWhole = true;
  };
  return {
    on: {
      turn: (data, id) => {
        byPlace.set(Number(id), JSON.parse(data));
        isChanged = true;
      },
      pending: (data) => {
        whole();
        got.pending = JSON.parse(data);
      },
      text: (data) => void (got.text = withDelta(got.text, JSON.parse(data))),
      end: whole,
    },
    draw: () => {
      if (isChanged) got.events = [...byPlace.values()];
      if (isChanged && isWhole) got.view = viewOf(got.events);
      isChanged = false;
      setState((last) => (isWhole || last.view === undefined ? { ...last, ...got } : last));
    },
  };
}
