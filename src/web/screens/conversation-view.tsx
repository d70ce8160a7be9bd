import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { addSpent, budgetText, spentText } from '../../contract/spending/budget';
import { callTitle, counted, describePhase, describeState } from '../../history/labels';
import type { TurnView } from '../../history/view-types';
import type { ControlBody, SessionView } from '../../server/api';
import { conversationPath, send } from '../http';
import {
  describeConversation,
  type Exchange,
  exchangesOf,
  type ShownMessage,
  whatCompacts,
} from '../model/conversation';
import { hrefOf } from '../model/route';
import { useAppContext, useNow } from '../ui/app';
import { Markdown } from '../ui/markdown';
import { Code, Files, Text } from '../ui/text';
import { Ago, Chip } from '../ui/widgets';
import type { LiveConversation } from './conversation-live';
import { Writing } from '../ui/writing';

/** What was said and done, and what is happening now. */
export function Spoken({
  view,
  live: { running, text, stopped },
  asks,
}: {
  view: SessionView;
  live: LiveConversation;
  /** The items that wait for a person. */
  asks: JSX.Element | undefined;
}): JSX.Element {
  const now = useNow();
  const { summary, waiting } = view;
  return (
    <>
      {summary !== undefined && summary.text !== '' && (
        <details class="model">
          <summary>The model knows the first {counted(summary.turns, 'turn')} by this summary</summary>
          <blockquote>
            <Text of={summary.text} layout="block" kind="prose" />
          </blockquote>
        </details>
      )}
      <ol class="exchanges">
        {exchangesOf(view).map((exchange) => (
          <OneTurn
            key={exchange.turn.turn}
            {...{ exchange, now }}
            stopped={stopped?.get(exchange.turn.turn)}
          />
        ))}
      </ol>
      {running !== undefined && <RunningTurn view={running} />}
      {running !== undefined && <Writing view={running} text={text} pending={undefined} />}
      {asks}
      {waiting.length > 0 && (
        <section aria-label="Messages that wait">
          {waiting.map((said) => (
            <Message key={said.messageId} {...{ said, now }} note="waits" />
          ))}
        </section>
      )}
    </>
  );
}

interface TurnProps {
  exchange: Exchange;
  now: number;
  /** What the model had written when the turn was stopped. */
  stopped: string | undefined;
}

function OneTurn({ exchange: { turn, said }, now, stopped }: TurnProps): JSX.Element {
  const { answer, error, status } = turn;
  return (
    <li>
      {said.map((one) => (
        <Message key={one.messageId} said={one} now={now} />
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
  said: ShownMessage;
  now: number;
  note?: string;
}

function Message({ said: { text, files, sender, at, mode }, now, note }: MessageProps): JSX.Element {
  const facts = [mode === undefined || mode === 'queue' ? '' : mode, note ?? ''].filter(Boolean);
  return (
    <div class="said person">
      <p class="quiet">
        {sender !== undefined && <Text of={sender} />} {at !== undefined && <Ago at={at} now={now} />}{' '}
        {facts.join(', ')}
      </p>
      <Markdown of={text} />
      <Files of={files} />
    </div>
  );
}

/** What the running turn has said and asked for so far. */
function RunningTurn({ view: { steps, calls, answer } }: { view: TurnView }): JSX.Element {
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
export function Head({ view, live: { running, kept = 0 } }: HeadProps): JSX.Element {
  const { session, agent, state, turns, spent, budget } = view;
  const limits = budget === undefined ? '' : budgetText(budget);
  const isRunning = turns.at(-1)?.status === 'running';
  // A turn adds to what its conversation has spent when it ends.
  const all = running?.spent === undefined ? spent : addSpent(spent, running.spent);
  return (
    <header class="turn-head">
      <p class="crumbs">
        <a href={hrefOf({ at: 'conversations' })}>Conversations</a>
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
function Controls({ view, isRunning, isStopping, kept }: ControlsProps): JSX.Element {
  const { notify, fail, session } = useAppContext();
  const act = async (body: ControlBody, text: string): Promise<void> => {
    const reply = await send('POST', `${conversationPath(view.session)}/controls`, { body });
    if (reply.ok) notify({ text, tone: 'quiet' });
    else fail(reply);
  };
  const button: ControlButton = (label, body, text, tone = '') => (
    <button class={`button ${tone}`} type="button" onClick={() => void act(body, text)}>
      {label}
    </button>
  );
  const isOpen = view.state === 'open' || view.state === 'paused';
  const mayStart = session.rights.includes('converse');
  const compact = (): void => {
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
        <button class="button" type="button" title={compacts} onClick={compact}>
          Compact
        </button>
      )}
      {isOpen && <Closing isRunning={isRunning} button={button} />}
    </p>
  );
}

/** Makes a button that sends a control to the conversation, then shows a notice. */
type ControlButton = (label: string, body: ControlBody, text: string, tone?: string) => JSX.Element;

/** A button that closes the conversation after the person has read what that means. */
function Closing({ isRunning, button }: { isRunning: boolean; button: ControlButton }): JSX.Element {
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
      <button class="button plain" type="button" onClick={() => setAsked(!isAsked)}>
        {isAsked ? 'Keep it' : 'Close'}
      </button>
    </span>
  );
}
