import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../history/labels';
import { dateTime, relative } from '../../contract/text/times';
import type { ConversationRow } from '../../server/api';
import { newDecisionId, readConversations } from '../http';
import { useTabVisible } from '../live';
import { describeConversation } from '../model/conversation';
import { hrefOf, queryOf } from '../model/route';
import { goTo, useAppContext, useNow } from '../ui/app';
import { Text } from '../ui/text';
import { Chip } from '../ui/widgets';

/** Conversations, newest first, and the form that begins one. */
export function ConversationsScreen(): JSX.Element {
  const rows = useConversations();
  const now = useNow();
  const { session } = useAppContext();
  return (
    <section class="turns" aria-labelledby="conversations-title">
      <h1 id="conversations-title" class="pane-title">
        Conversations
      </h1>
      {session.rights.includes('converse') && (
        <Begin agents={[...new Set(rows?.map(({ agent }) => agent))]} />
      )}
      {rows === undefined && <p class="empty">Reading conversations …</p>}
      {rows?.length === 0 && <p class="empty">There are no conversations yet.</p>}
      <ul class="turn-list">
        {rows?.map((row) => (
          <Row key={row.session} row={row} now={now} />
        ))}
      </ul>
      {rows?.length === MOST && <p class="older">These are the newest {MOST}.</p>}
    </section>
  );
}

/** Names the agent of a new conversation; its first message starts it. */
function Begin({ agents }: { agents: readonly string[] }): JSX.Element {
  const [agent, setAgent] = useState('');
  const [queue, setQueue] = useState('');
  const begin = (event: Event): void => {
    event.preventDefault();
    const start = queryOf({ agent: agent.trim(), queue: queue.trim() });
    const session = newDecisionId().replace('web-', 'session-');
    if (agent.trim() !== '') goTo({ at: 'conversation', session, start });
  };
  return (
    <form class="filters begin" onSubmit={begin}>
      <label class="field-beside">
        Agent{' '}
        <input
          id="agent"
          type="text"
          required
          list="agents"
          value={agent}
          onInput={({ currentTarget }) => setAgent(currentTarget.value)}
        />
      </label>
      <datalist id="agents">
        {agents.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <label class="field-beside">
        Queue{' '}
        <input
          id="queue"
          type="text"
          placeholder="countersign"
          value={queue}
          onInput={({ currentTarget }) => setQueue(currentTarget.value)}
        />
      </label>
      <button class="button primary" type="submit">
        New conversation
      </button>
    </form>
  );
}

function Row({ row, now }: { row: ConversationRow; now: number }): JSX.Element {
  const { session, agent, state, text, turns, waiting, asks, startedAt } = row;
  return (
    <li>
      <a href={hrefOf({ at: 'conversation', session })}>
        <span class="turn-prompt">
          {text === '' ? <span class="quiet">Nothing was said yet</span> : <Text of={text} kind="prose" />}
        </span>
        <span class="chips">
          {asks > 0 && <span class="chip ask">{asks} to decide</span>}
          <Chip of={describeConversation(state)} />
        </span>
        <span class="row-foot">
          <Text of={agent} /> · {counted(turns, 'turn')}
          {waiting > 0 && ` · ${counted(waiting, 'message')} waiting`} · started{' '}
          <time dateTime={startedAt} title={dateTime(startedAt)}>
            {relative(startedAt, now)}
          </time>{' '}
          ·{' '}
          <code>
            <Text of={session} />
          </code>
        </span>
      </a>
    </li>
  );
}

/** As the server gives them where no limit is named. */
const MOST = 50;
/** Each list costs the Temporal server a question, so it is read no more often. Milliseconds. */
const EVERY_MS = 5_000;

/** Reads the list again and again while the tab is visible: what is said changes nothing else that this page hears of. */
function useConversations(): readonly ConversationRow[] | undefined {
  const { fail } = useAppContext();
  const [rows, setRows] = useState<readonly ConversationRow[]>();
  const isVisible = useTabVisible();
  const isSaid = useRef(false);
  useEffect(() => {
    if (!isVisible) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const read = async (): Promise<void> => {
      const reply = await readConversations();
      if (isLeft) return;
      if (reply.ok) setRows(reply.data);
      // ShownMessage once, not every five seconds.
      else if (!isSaid.current || reply.status === 401) fail(reply.status, reply.error);
      isSaid.current = !reply.ok;
      timer = setTimeout(() => void read(), EVERY_MS);
    };
    void read();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [isVisible]);
  return rows;
}
