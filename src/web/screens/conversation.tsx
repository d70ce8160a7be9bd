import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { compactedText } from '../model/conversation';
import { errorText } from '../model/labels';
import { parametersOf } from '../model/route';
import { useAppContext, useLate, useTabTitle } from '../ui/app';
import { Text } from '../ui/text';
import { Unreadable } from '../ui/widgets';
import { type LiveConversation, useConversation } from './conversation-live';
import { Head, Spoken } from './conversation-view';

interface ScreenProps {
  session: string;
  /** The agent and task queue of a conversation that the first message starts, as in the address. */
  start: string | undefined;
}

const loadAsks = () => import('./asks');
const loadComposer = () => import('./composer');

/** A conversation: what people said, what the agent did, and a field for more. */
export function ConversationScreen({ session, start = '' }: ScreenProps): JSX.Element {
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
    return problem === undefined ? (
      <h1 class="empty">Reading the conversation …</h1>
    ) : (
      <Unreadable what="conversation" problem={problem} />
    );
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

/** The most pixels from the end at which a person still counts as reading the end. */
const NEAR = 200;

/** Keeps the end in view if it was in view before new content came. A request stays where the person reads it. */
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

/** Shows a notice with the result of an attempt to summarize. */
function useCompacted({ compacted }: LiveConversation): void {
  const { notify } = useAppContext();
  useEffect(() => {
    if (compacted === undefined) return;
    const tone = compacted.type === 'compacted' ? 'good' : 'bad';
    notify({ text: compactedText(compacted), tone });
  }, [compacted]);
}
