import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { MessageMode } from '../../contract/session';
import { defined } from '../../contract/defined';
import type { SentMessage } from '../../server/api';
import { newDecisionId, sendMessage } from '../http';
import {
  compactedText,
  EMPTY_MESSAGE,
  type MessageDraft,
  readMessageDraft,
  textProblem,
} from '../model/conversation';
import { errorText } from '../model/labels';
import { hrefOf, parametersOf } from '../model/route';
import { useAppContext, useKept, useLate } from '../ui/app';
import { Text } from '../ui/text';
import { Key, Select } from '../ui/widgets';
import { type LiveConversation, useConversation } from './conversation-live';
import { Head, Spoken } from './conversation-view';

interface ScreenProps {
  session: string;
  /** Of one that the first message starts, as in the address. */
  start: string | undefined;
}

const loadAsks = () => import('./asks');

/** A conversation: what people said, what the agent did, and where to say more. */
export function ConversationScreen({ session, start = '' }: ScreenProps): JSX.Element {
  const [attempt, setAttempt] = useState(0);
  const live = useConversation(session, attempt);
  const { view, problem } = live;
  const mayWrite = useAppContext().session.rights.includes('converse');
  const isNew = view === undefined && start !== '' && problem?.code === 'session_not_found';
  const isOver = view !== undefined && !['open', 'paused'].includes(view.state);
  const { end, isAtEnd } = useEnd(live);
  const asks = useLate(loadAsks, view !== undefined);
  useCompacted(live);
  if (view === undefined && !isNew) return <Unread live={live} />;
  return (
    <section class="conversation" aria-labelledby="conversation-title">
      {problem !== undefined && !isNew && (
        <p class="banner bad" role="alert">
          <Text of={errorText(problem)} />
        </p>
      )}
      {view === undefined ? <NewHead start={start} /> : <Head {...{ view, live }} />}
      {view !== undefined && (
        <Spoken {...{ view, live }} asks={asks && <asks.Asks {...{ session, isAtEnd }} />} />
      )}
      {isOver && <p class="quiet">This conversation takes no more messages.</p>}
      {!isOver && !mayWrite && (
        <p class="quiet">You may read this conversation. To write in it you need the right to.</p>
      )}
      {mayWrite && (
        <Composer
          {...{ session, start, isOver }}
          isRunning={view?.turns.at(-1)?.status === 'running'}
          sent={() => isNew && setAttempt(attempt + 1)}
        />
      )}
      <span ref={end} />
    </section>
  );
}

/** In place of a conversation that has not come yet, or does not come. */
function Unread({ live: { problem } }: { live: LiveConversation }): JSX.Element {
  if (problem === undefined) return <h1 class="empty">Reading the conversation …</h1>;
  return (
    <div class="empty" role="alert">
      <h1 class="pane-title">
        {problem.code === 'session_not_found'
          ? 'There is no such conversation'
          : 'The conversation cannot be read'}
      </h1>
      <p>
        <Text of={errorText(problem)} />
      </p>
      <p>
        <a href={hrefOf({ at: 'conversations' })}>All conversations</a>
      </p>
    </div>
  );
}

function NewHead({ start }: { start: string }): JSX.Element {
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

/** How far from the end a person still reads the end. In pixels. */
const NEAR = 200;

/** Keeps the end in sight while it was in sight before something came. What is to be decided stays where it is read. */
function useEnd({ view, running, text }: LiveConversation) {
  const end = useRef<HTMLSpanElement>(null);
  const isAtEnd = useRef(true);
  useEffect(() => {
    const main = document.getElementById('main');
    if (main === null) return;
    const look = (): void => {
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

/** Says how a summary went. */
function useCompacted({ compacted }: LiveConversation): void {
  const { notify } = useAppContext();
  useEffect(() => {
    if (compacted === undefined) return;
    const tone = compacted.type === 'compacted' ? 'good' : 'bad';
    notify({ text: compactedText(compacted), tone });
  }, [compacted]);
}

const WAYS: readonly (readonly [MessageMode, string])[] = [
  ['queue', 'after this turn'],
  ['steer', 'into this turn'],
  ['interrupt', 'stop this turn first'],
];

interface ComposerProps {
  session: string;
  /** The agent and the queue of a conversation that the first message starts, as in the address. */
  start: string;
  /** A turn runs, so that a message can go into it. */
  isRunning: boolean;
  /** It takes no more messages. What was typed for it is shown all the same. */
  isOver: boolean;
  sent: () => void;
}

/** Where a person writes. What is typed stays in the tab until it is sent. */
export function Composer(props: ComposerProps): JSX.Element | null {
  const { value, change, problem, isSending, send } = useMessage(props);
  const { isOver } = props;
  if (isOver && value.text === '') return null;
  return (
    <form
      class="composer"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <textarea
        id="say"
        rows={3}
        dir="auto"
        placeholder="Write a message"
        aria-label={isOver ? 'Message that was not sent' : 'Message'}
        aria-keyshortcuts="Control+Enter"
        aria-describedby="say-problem"
        aria-invalid={problem !== undefined}
        value={value.text}
        readOnly={isSending || isOver}
        onInput={({ currentTarget }) => change({ text: currentTarget.value, messageId: '' })}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return;
          event.preventDefault();
          void send();
        }}
      />
      <div class="buttons">
        {props.isRunning && !isOver && <Way value={value.mode} choose={(mode) => change({ mode })} />}
        {!isOver && (
          <button class="button primary" type="submit" aria-disabled={isSending}>
            {isSending ? 'Sending …' : 'Send'} <Key of="Ctrl+Enter" />
          </button>
        )}
        <span class="problem" id="say-problem" role="alert">
          {problem !== undefined && <Text of={problem} />}
        </span>
      </div>
    </form>
  );
}

function Way({ value, choose }: { value: MessageMode; choose: (mode: MessageMode) => void }): JSX.Element {
  return (
    <Select
      id="mode"
      label="When the agent reads it"
      value={value}
      options={WAYS}
      choose={(mode) => choose(WAYS.find(([key]) => key === mode)?.[0] ?? 'queue')}
    />
  );
}

/** What is typed, and sending it. */
function useMessage({ session, start, isRunning, sent }: ComposerProps) {
  const { notify, fail } = useAppContext();
  const { value, change, forget } = useKept(`say/${session}`, EMPTY_MESSAGE, readMessageDraft);
  const [problem, setProblem] = useState<string>();
  const [isSending, setSending] = useState(false);
  const send = async (): Promise<void> => {
    const why = textProblem(value.text);
    setProblem(why);
    if (why !== undefined || isSending) return;
    // The same text again is the same message.
    const messageId = value.messageId || newDecisionId();
    change({ messageId });
    setSending(true);
    const { agent, queue } = parametersOf(start, ['agent', 'queue']);
    const options = defined({ agent: agent || undefined, taskQueue: queue || undefined });
    const mode = isRunning ? value.mode : 'queue';
    const reply = await sendMessage(session, { text: value.text, messageId, mode, ...options });
    setSending(false);
    if (!reply.ok && reply.status === 401) return fail(reply.status, reply.error);
    if (!reply.ok) return setProblem(errorText(reply.error));
    forget();
    const notice = noticeOf(reply.data);
    if (notice !== undefined) notify({ text: notice, tone: 'quiet' });
    sent();
  };
  const type = (part: Partial<MessageDraft>): void => {
    setProblem(undefined);
    change(part);
  };
  return { value, change: type, problem, isSending, send };
}

/** What a person does not see below. */
function noticeOf(sent: SentMessage): string | undefined {
  if (sent.status === 'recorded')
    return 'No worker answers. The message is on record and counts when one runs.';
  return {
    started: undefined,
    queued: 'Sent. It waits for the turns before it.',
    steering: 'Sent. The turn reads it before its next step.',
    interrupting: 'Sent. The turn is stopped for it.',
  }[sent.outcome];
}
