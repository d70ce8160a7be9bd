import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import {
  compactedText,
  describeConversation,
  type Exchange,
  exchangesOf,
  whatCompacts,
  type Compacted,
  keptTurns,
} from '../model/conversation';
import { errorText } from '../model/labels';
import { parametersOf, hrefOf } from '../model/route';
import { useAppContext, useLate, useTabTitle } from '../ui/app';
import { Text, Code, Files } from '../ui/text';
import { Button, Unreadable, Ago, Chip } from '../ui/widgets';
import { addSpent, budgetText, spentText } from '../../contract/spending/budget';
import { callTitle, counted, describePhase, describeState } from '../../history/labels';
import type { TurnView } from '../../history/view-types';
import type { ControlBody, SessionView, ApiError, SessionEvent, SessionTurnEvent } from '../../server/api';
import { conversationPath, send } from '../http';
import { Markdown } from '../ui/markdown';
import { Writing } from '../ui/writing';
import type { TurnEvent } from '../../history/events';
import { sessionViewOf } from '../../history/session/view';
import { viewOf } from '../../history/view';
import { type Follower, type LiveText, useEvents, withDelta } from '../live';

interface ScreenProps {
  session: string;
  /** The agent and task queue of a conversation that the first message starts, as in the address. */
  start: string | undefined;
}

const loadAsks = () => import('./asks');
const loadComposer = () => import('./composer');

/** A conversation: what people said, what the agent did, and a field for more. */
export function ConversationScreen({ session, start = '' }: ScreenProps) {
  const [attempt, setAttempt] = useState(0);
  const live = useConversation(session, attempt);
  const { view, problem } = live;
  const mayWrite = useAppContext().session.rights.includes('converse');
  const isNew = view === undefined && start !== '' && problem?.code === 'not_found';
  const isOver = view !== undefined && !['open', 'paused'].includes(view.state);
  const { end, isAtEnd } = useEnd(live);
  const asks = useLate(loadAsks, view !== undefined);
  const composer = useLate(loadComposer, mayWrite);
  useCompacted(live);
  useTabTitle(view && `Conversation with ${view.agent}`);
  if (view === undefined && !isNew)
    return problem ? (
      <Unreadable what="conversation" problem={problem} />
    ) : (
      <h1 class="empty">Reading the conversation …</h1>
    );
  return (
    <section class="conversation" aria-labelledby="conversation-title">
      {problem && !isNew && (
        <p class="banner bad" role="alert">
          <Text of={errorText(problem)} />
        </p>
      )}
      {view ? <Head {...{ view, live }} /> : <NewHead start={start} />}
      {view && <Spoken {...{ view, live }} asks={asks && <asks.Asks {...{ session, isAtEnd }} />} />}
      {isOver && <p class="quiet">This conversation takes no more messages.</p>}
      {!isOver && !mayWrite && (
        <p class="quiet">You may read this conversation. To write in it you need the right to.</p>
      )}
      {composer && (
        <composer.Composer
          {...{ session, start, isOver }}
          isRunning={view?.turns.at(-1)?.status === 'running'}
          sent={() => isNew && setAttempt(attempt + 1)}
        />
      )}
      <span ref={end} />
    </section>
  );
}

function NewHead({ start }: { start: string }) {
  const { agent } = parametersOf(start, ['agent']);
  return (
    <header class="turn-head">
      <h1 id="conversation-title">
        New conversation with <Text of={agent} />
      </h1>
      <p class="quiet">It begins with your first message.</p>
    </header>
  );
}

/** The most pixels from the end at which a person still counts as reading the end. */
const NEAR = 200;

/** Keeps the end in view if it was in view before new content came. A request stays where the person reads it. */
function useEnd({ view, running, text }: LiveConversation) {
  const end = useRef<HTMLSpanElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const main = document.getElementById('main');
    if (main === null) return;
    const look = () => {
      isAtEnd.current = main.scrollHeight - main.scrollTop - main.clientHeight < NEAR;
    };
    main.addEventListener('scroll', look);
    return () => main.removeEventListener('scroll', look);
  }, []);
  useEffect(() => {
    if (isAtEnd.current && document.querySelector('.asked') === null)
      end.current?.scrollIntoView({ block: 'end' });
  }, [view, running, text]);
  return { end, isAtEnd };
}

/** Shows a notice with the result of an attempt to summarize. */
function useCompacted({ compacted }: LiveConversation) {
  const { notify } = useAppContext();
  useEffect(() => {
    if (compacted === undefined) return;
    const tone = compacted.type === 'compacted' ? 'good' : 'bad';
    notify({ text: compactedText(compacted), tone });
  }, [compacted]);
}

/** What was said and done, and what is happening now. */
function Spoken({
  view,
  live: { running, text, stopped },
  asks,
}: {
  view: SessionView;
  live: LiveConversation;
  /** The items that wait for a person. */
  asks: JSX.Element | undefined;
}) {
  const { summary, waiting } = view;
  return (
    <>
      {summary && summary.text !== '' && (
        <details class="model">
          <summary>The model knows the first {counted(summary.turns, 'turn')} by this summary</summary>
          <blockquote>
            <Text of={summary.text} layout="block" kind="prose" />
          </blockquote>
        </details>
      )}
      <ol class="exchanges">
        {exchangesOf(view).map((exchange) => (
          <OneTurn key={exchange.turn.turn} exchange={exchange} stopped={stopped?.get(exchange.turn.turn)} />
        ))}
      </ol>
      {running && <RunningTurn view={running} />}
      {running && <Writing view={running} text={text} pending={undefined} />}
      {asks}
      {waiting.length > 0 && (
        <section aria-label="Messages that wait">
          {waiting.map((said) => (
            <Message key={said.messageId} said={said} note="waits" />
          ))}
        </section>
      )}
    </>
  );
}

interface TurnProps {
  exchange: Exchange;
  /** What the model had written when the turn was stopped. */
  stopped: string | undefined;
}

function OneTurn({ exchange: { turn, said }, stopped }: TurnProps) {
  const { answer, error, status } = turn;
  return (
    <li>
      {said.map((one) => (
        <Message key={one.messageId} said={one} />
      ))}
      <a class="turn-row" href={hrefOf({ at: 'turn', turn: turn.turn })}>
        <Code of={turn.turn.split('.').at(-1) ?? turn.turn} />{' '}
        {status === 'not_started' ? 'not started' : <Chip of={describeState(status)} />}
      </a>
      {answer !== undefined && answer !== '' && (
        <div class="said answer">
          <Markdown of={answer} />
        </div>
      )}
      {stopped !== undefined && (
        <div class="said answer">
          <Markdown of={stopped} />
          <p class="quiet">It was stopped here.</p>
        </div>
      )}
      {error !== undefined && (
        <p class="said answer bad">
          <Text of={error} layout="block" kind="prose" />
        </p>
      )}
    </li>
  );
}

interface MessageProps {
  said: Exchange['said'][number];
  note?: string;
}

function Message({ said: { text, files, sender, at, mode }, note }: MessageProps) {
  const facts = [mode === undefined || mode === 'queue' ? '' : mode, note ?? ''].filter(Boolean);
  return (
    <div class="said person">
      <p class="quiet">
        {sender !== undefined && <Text of={sender} />} {at !== undefined && <Ago at={at} />}{' '}
        {facts.join(', ')}
      </p>
      <Markdown of={text} />
      <Files of={files} />
    </div>
  );
}

/** What the running turn has said and asked for so far. */
function RunningTurn({ view: { steps, calls, answer } }: { view: TurnView }) {
  return (
    <section class="going-on" aria-label="The turn that runs">
      {steps.map(({ step, text, callIds }) => (
        <div key={step}>
          {text.trim() !== '' && text !== answer && (
            <div class="said answer">
              <Markdown of={text.trim()} />
            </div>
          )}
          {calls
            .filter(({ callId }) => callIds.includes(callId))
            .map((call) => (
              <p key={call.callId} class="call-line">
                <Code of={callTitle(call)} /> <Chip of={describePhase(call)} />
              </p>
            ))}
        </div>
      ))}
    </section>
  );
}

interface HeadProps {
  view: SessionView;
  live: LiveConversation;
}

/** The agent of the conversation, its state, and what it has spent. */
function Head({ view, live: { running, kept = 0 } }: HeadProps) {
  const { session, agent, state, turns, spent, budget } = view;
  const limits = budget ? budgetText(budget) : '';
  const isRunning = turns.at(-1)?.status === 'running';
  // A turn adds to what its conversation has spent when it ends.
  const all = running?.spent ? addSpent(spent, running.spent) : spent;
  return (
    <header class="turn-head">
      <p class="crumbs">
        <a href="#/conversations">Conversations</a>
        <Code of={session} />
      </p>
      <h1 id="conversation-title">
        Conversation with <Text of={agent} />
      </h1>
      <p class="turn-facts">
        <Chip of={describeConversation(isRunning && state === 'open' ? 'running' : state)} />{' '}
        {counted(turns.length, 'turn')}
        {all.steps > 0 && ` · spent ${spentText(all)}`}
        {limits !== '' && `; budget ${limits}`}
      </p>
      <Controls {...{ view, isRunning, kept }} isStopping={running?.cancelRequested === true} />
    </header>
  );
}

interface ControlsProps {
  view: SessionView;
  isRunning: boolean;
  isStopping: boolean;
  /** The number of turns that the model reads in full. */
  kept: number;
}

/** Buttons that stop the turn, and pause, resume, compact or close the conversation. */
function Controls({ view, isRunning, isStopping, kept }: ControlsProps) {
  const { notify, fail, session } = useAppContext();
  const act = async (body: ControlBody, text: string) => {
    const reply = await send('POST', `${conversationPath(view.session)}/controls`, { body });
    if (reply.ok) notify({ text, tone: 'quiet' });
    else fail(reply);
  };
  const button: ControlButton = (label, body, text, tone = '') => (
    <Button look={tone} onClick={() => void act(body, text)}>
      {label}
    </Button>
  );
  const isOpen = view.state === 'open' || view.state === 'paused';
  const mayStart = session.rights.includes('converse');
  const compact = () => {
    const { isNeeded, text } = whatCompacts(kept, isRunning);
    if (isNeeded) void act({ action: 'compact' }, text);
    else notify({ text, tone: 'quiet' });
  };
  const compacts = 'A summary takes the place of all turns but the last';
  return (
    <p class="controls">
      {isRunning && isStopping && <span class="chip quiet">the turn was asked to end</span>}
      {isRunning &&
        !isStopping &&
        button('Stop the turn', { action: 'cancel_turn' }, 'The turn was asked to end.', 'danger')}
      {view.state === 'open' && button('Pause', { action: 'pause' }, 'No further turn starts.')}
      {view.state === 'paused' && mayStart && button('Resume', { action: 'resume' }, 'It goes on.')}
      {isOpen && mayStart && (
        <Button title={compacts} onClick={compact}>
          Compact
        </Button>
      )}
      {isOpen && <Closing isRunning={isRunning} button={button} />}
    </p>
  );
}

/** Makes a button that sends a control to the conversation, then shows a notice. */
type ControlButton = (label: string, body: ControlBody, text: string, tone?: string) => JSX.Element;

/** A button that closes the conversation after the person has read what that means. */
function Closing({ isRunning, button }: { isRunning: boolean; button: ControlButton }) {
  const [isAsked, setAsked] = useState(false);
  // One button offers and keeps, so that the focus of the keyboard stays.
  return (
    <span class="confirm">
      {isAsked && (
        <>
          It takes no more messages, and what waits is left undone.{' '}
          {button(isRunning ? 'Close it after this turn' : 'Close it', { action: 'close' }, 'It is closed.')}{' '}
          {isRunning &&
            button('Stop and close it', { action: 'close', cancel: true }, 'It is closed.', 'danger')}{' '}
        </>
      )}
      <Button look="plain" onClick={() => setAsked(!isAsked)}>
        {isAsked ? 'Keep it' : 'Close'}
      </Button>
    </span>
  );
}

/** A conversation as it is now. */
interface LiveConversation {
  /** Undefined until everything so far has come. */
  view?: SessionView;
  /** The turn that runs. */
  running?: TurnView;
  /** The text that the model of the running turn writes. */
  text?: LiveText;
  /** What the model had written in turns that were stopped while the person looked. History has no such text. */
  stopped?: ReadonlyMap<string, string>;
  /** The number of turns that the model reads in full. */
  kept?: number;
  /** The result of the last attempt to summarize, if it ended while the person looked. */
  compacted?: Compacted;
  /** Why the conversation cannot be read. */
  problem?: ApiError;
}

/**
 * Reads a conversation from its start, then follows it while the tab is visible. When `attempt` changes, it is read
 * again.
 */
function useConversation(session: string, attempt: number) {
  return useEvents<LiveConversation>(conversationPath(session), {}, follow, attempt);
}

/** The events that have come through one connection so far. */
interface Received {
  events: SessionEvent[];
  turn?: { id: string; events: TurnEvent[] };
  text?: LiveText;
  compacted?: Compacted;
  isWhole: boolean;
}

function writtenIn({ turn, text }: Received) {
  const said = turn ? viewOf(turn.events).steps.map((step) => step.text) : [];
  return [...said, text?.text ?? '']
    .map((part) => part.trim())
    .filter(Boolean)
    .join('\n\n');
}

/** Follows a conversation, and sets its state. */
function follow(setState: (change: (last: LiveConversation) => LiveConversation) => void): Follower {
  let got: Received = { events: [], isWhole: false };
  const stopped = new Map<string, string>();
  const whole = () => void (got.isWhole = true);
  return {
    on: {
      start: () => void (got = { events: [], isWhole: false }),
      session: (data) => takeEvent(got, JSON.parse(data), stopped),
      turn: (data) => takeTurnEvent(got, JSON.parse(data)),
      text: (data) => void (got.text = withDelta(got.text, JSON.parse(data).delta)),
      live: whole,
      end: whole,
    },
    draw: () => {
      const { events, turn, text, compacted, isWhole } = got;
      if (!isWhole) return;
      const running = turn && viewOf(turn.events);
      const view = sessionViewOf(events);
      setState((last) => ({ ...last, view, running, text, stopped, kept: keptTurns(events), compacted }));
    },
  };
}

function takeEvent(got: Received, event: SessionEvent, stopped: Map<string, string>) {
  got.events.push(event);
  if (got.isWhole && (event.type === 'compacted' || event.type === 'compaction_failed'))
    got.compacted = event;
  if (event.type !== 'turn_ended' || event.turn !== got.turn?.id) return;
  const written = event.status === 'cancelled' ? writtenIn(got) : '';
  if (written !== '') stopped.set(event.turn, written);
  got.turn = got.text = undefined;
}

function takeTurnEvent(got: Received, { turn, event }: SessionTurnEvent) {
  if (got.turn?.id !== turn) {
    got.turn = { id: turn, events: [] };
    got.text = undefined;
  }
  got.turn.events.push(event);
}
