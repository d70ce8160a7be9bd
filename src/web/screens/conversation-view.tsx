import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { budgetText, spentText } from '../../contract/spending/budget';
import { counted, describePhase, describeState } from '../../history/labels';
import { callSummary } from '../../contract/text/call-summary';
import { dateTime, relative } from '../../contract/text/times';
import type { TurnView } from '../../history/view-types';
import type { ControlBody, SessionView } from '../../server/api';
import { controlConversation } from '../http';
import { useInboxRows } from '../inbox-rows';
import { describeConversation, type Exchange, exchangesOf, type ShownMessage } from '../model/conversation';
import { rowText } from '../model/inbox';
import { hrefOf, queryOf } from '../model/route';
import { useAppContext, useNow } from '../ui/app';
import { Text } from '../ui/text';
import { Chip } from '../ui/widgets';
import type { LiveConversation } from './conversation-live';
import { Writing } from './turn/steps';

/** What was said and done, and what is going on. */
export function Spoken({
  view,
  live: { running, text },
}: {
  view: SessionView;
  live: LiveConversation;
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
          <OneTurn key={exchange.turn.turn} {...{ exchange, now }} />
        ))}
      </ol>
      {running !== undefined && <RunningTurn view={running} />}
      {running !== undefined && <Writing view={running} text={text} pending={undefined} />}
      <Asks session={view.session} now={now} />
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

function OneTurn({ exchange: { turn, said }, now }: { exchange: Exchange; now: number }): JSX.Element {
  const { answer, error, status } = turn;
  return (
    <li>
      {said.map((one) => (
        <Message key={one.messageId} said={one} now={now} />
      ))}
      <a class="turn-row" href={hrefOf({ at: 'turn', turn: turn.turn })}>
        <code>
          <Text of={turn.turn.split('.').at(-1) ?? turn.turn} />
        </code>{' '}
        {status === 'not_started' ? 'not started' : <Chip of={describeState(status)} />}
      </a>
      {answer !== undefined && answer !== '' && (
        <p class="said answer">
          <Text of={answer} layout="block" kind="prose" />
        </p>
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

function Message({ said: { text, sender, at, mode }, now, note }: MessageProps): JSX.Element {
  const facts = [mode === undefined || mode === 'queue' ? '' : mode, note ?? ''].filter(Boolean);
  return (
    <div class="said person">
      <p class="quiet">
        {sender !== undefined && <Text of={sender} />}{' '}
        {at !== undefined && (
          <time dateTime={at} title={dateTime(at)}>
            {relative(at, now)}
          </time>
        )}{' '}
        {facts.join(', ')}
      </p>
      <p>
        <Text of={text} layout="block" kind="prose" />
      </p>
    </div>
  );
}

/** What the turn that runs has said and asked for so far. */
function RunningTurn({ view: { steps, calls, answer } }: { view: TurnView }): JSX.Element {
  return (
    <section class="going-on" aria-label="The turn that runs">
      {steps.map(({ step, text, callIds }) => (
        <div key={step}>
          {text.trim() !== '' && text !== answer && (
            <p class="said answer">
              <Text of={text.trim()} layout="block" kind="prose" />
            </p>
          )}
          {calls
            .filter(({ callId }) => callIds.includes(callId))
            .map((call) => (
              <p key={call.callId} class="call-line">
                <code>
                  <Text of={callSummary(call)} />
                </code>{' '}
                <Chip of={describePhase(call)} />
              </p>
            ))}
        </div>
      ))}
    </section>
  );
}

/** What of a conversation waits for a person. Each opens as in the inbox, and Back leads here again. */
function Asks({ session, now }: { session: string; now: number }): JSX.Element | null {
  const { inbox, fail } = useAppContext();
  const { page } = useInboxRows({ query: queryOf({ session }), offset: 0, limit: 50 }, inbox, fail);
  if (page === undefined || page.rows.length === 0) return null;
  return (
    <section class="asks" aria-label="Waits for a person">
      {page.rows.map((item) => (
        <a
          key={`${item.turn}/${item.callId}`}
          href={hrefOf({ at: 'call', turn: item.turn, callId: item.callId })}
        >
          <span class="chip ask">{item.kind === 'in_doubt' ? 'in doubt' : item.kind}</span>{' '}
          <code>
            <Text of={item.tool} /> <Text of={rowText(item)} />
          </code>
          <span class="row-foot">
            <Text of={item.agent} /> asks ·{' '}
            <time dateTime={item.since} title={dateTime(item.since)}>
              {relative(item.since, now)}
            </time>
          </span>
        </a>
      ))}
    </section>
  );
}

/** Who it is with, how it stands, and what it has spent. */
export function Head({ view, running }: { view: SessionView; running: TurnView | undefined }): JSX.Element {
  const { session, agent, state, turns, spent, budget } = view;
  const limits = budget === undefined ? '' : budgetText(budget);
  const isRunning = turns.at(-1)?.status === 'running';
  return (
    <header class="turn-head">
      <p class="crumbs">
        <a href={hrefOf({ at: 'conversations' })}>Conversations</a>
        <code>
          <Text of={session} />
        </code>
      </p>
      <h1 id="conversation-title">
        Conversation with <Text of={agent} />
      </h1>
      <p class="turn-facts">
        <Chip of={describeConversation(isRunning && state === 'open' ? 'running' : state)} />{' '}
        {counted(turns.length, 'turn')} · spent {spentText(spent)}
        {limits !== '' && `; budget ${limits}`}
      </p>
      <Controls {...{ view, isRunning }} isStopping={running?.cancelRequested === true} />
    </header>
  );
}

interface ControlsProps {
  view: SessionView;
  isRunning: boolean;
  isStopping: boolean;
}

/** Stops the turn, pauses, resumes and closes. */
function Controls({ view, isRunning, isStopping }: ControlsProps): JSX.Element | null {
  const { notify, fail, session } = useAppContext();
  const [isClosing, setClosing] = useState(false);
  const act = async (body: ControlBody, text: string): Promise<void> => {
    setClosing(false);
    const reply = await controlConversation(view.session, body);
    if (reply.ok) notify({ text, tone: 'quiet' });
    else fail(reply.status, reply.error);
  };
  const button = (label: string, body: ControlBody, text: string, tone = ''): JSX.Element => (
    <button class={`button ${tone}`} type="button" onClick={() => void act(body, text)}>
      {label}
    </button>
  );
  const isOpen = view.state === 'open' || view.state === 'paused';
  const mayResume = session.rights.includes('converse');
  return (
    <p class="controls">
      {isRunning && isStopping && <span class="chip quiet">the turn was asked to end</span>}
      {isRunning &&
        !isStopping &&
        button('Stop the turn', { action: 'cancel_turn' }, 'The turn was asked to end.', 'danger')}
      {view.state === 'open' && button('Pause', { action: 'pause' }, 'No further turn starts.')}
      {view.state === 'paused' && mayResume && button('Resume', { action: 'resume' }, 'It goes on.')}
      {isOpen && !isClosing && (
        <button class="button plain" type="button" onClick={() => setClosing(true)}>
          Close
        </button>
      )}
      {isOpen && isClosing && (
        <span class="confirm">
          It takes no more messages, and what waits is left undone.{' '}
          {button(isRunning ? 'Close it after this turn' : 'Close it', { action: 'close' }, 'It is closed.')}{' '}
          {isRunning &&
            button('Stop and close it', { action: 'close', cancel: true }, 'It is closed.', 'danger')}{' '}
          <button class="button plain" type="button" onClick={() => setClosing(false)}>
            Keep it
          </button>
        </span>
      )}
    </p>
  );
}
