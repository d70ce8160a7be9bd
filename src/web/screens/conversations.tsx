import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../history/labels';
import type { ConversationRow, ConversationsPage, TurnsPage } from '../../server/api';
import { newDecisionId, type Reply, send } from '../http';
import { useTabVisible } from '../live';
import { describeConversation } from '../model/conversation';
import { hrefOf, parametersOf, queryOf } from '../model/route';
import { goTo, showInList, useAppContext, useNow } from '../ui/app';
import { Code, Text } from '../ui/text';
import { Ago, Chip, Select } from '../ui/widgets';

/** The part of the list that is shown. Empty: all agents, and the newest page. */
interface Part {
  agent: string;
  older: string;
}

const readConversations = (part: Part): Promise<Reply<ConversationsPage>> =>
  send('GET', `api/conversations?${queryOf({ ...part })}`);

/**
 * Conversations, the newest first, and the form that begins one. `query` chooses the conversations that are shown, as
 * in the address.
 */
export function ConversationsScreen({ query = '' }: { query: string | undefined }): JSX.Element {
  const { agent, older } = parametersOf(query, ['agent', 'older']);
  const page = useConversations({ agent, older });
  const rows = page?.conversations;
  const agents = useAgents(rows, agent);
  const now = useNow();
  const { session } = useAppContext();
  return (
    <section class="turns" aria-labelledby="conversations-title">
      <h1 id="conversations-title" class="pane-title">
        Conversations
      </h1>
      {session.rights.includes('converse') && <Begin agents={agents} />}
      <div class="filters only" role="search" aria-label="Filter">
        <Select
          id="only"
          label="Only of agent"
          value={agent}
          options={[['', 'every agent'], ...agents.map((name) => [name, name] as const)]}
          choose={(only) => showInList({ at: 'conversations' }, queryOf({ agent: only }))}
        />
      </div>
      {rows === undefined && <p class="empty">Reading conversations …</p>}
      {rows?.length === 0 && <p class="empty">{whyEmpty(page?.older, { agent, older })}</p>}
      <ul class="turn-list">
        {rows?.map((row) => (
          <Row key={row.session} row={row} now={now} />
        ))}
      </ul>
      {typeof page?.older === 'string' && (
        <p class="older">
          <a href={hrefOf({ at: 'conversations', query: queryOf({ agent, older: page.older }) })}>
            Older conversations
          </a>
        </p>
      )}
    </section>
  );
}

function whyEmpty(next: string | null | undefined, { agent, older }: Part): string {
  if (typeof next === 'string') return 'There are none among the newest here.';
  if (older !== '') return 'There are no older ones.';
  return agent === '' ? 'There are no conversations yet.' : 'There are no conversations with this agent.';
}

/** All agents that were in the list so far, whatever the list shows now. */
function useAgents(rows: readonly ConversationRow[] | undefined, chosen: string): readonly string[] {
  const seen = useRef(new Set<string>()).current;
  if (chosen !== '') seen.add(chosen);
  for (const { agent } of rows ?? []) seen.add(agent);
  return [...seen];
}

/** A form that names the agent of a new conversation. The first message starts that conversation. */
function Begin({ agents }: { agents: readonly string[] }): JSX.Element {
  const names = useKnownAgents(agents);
  const [chosen, setAgent] = useState<string>();
  const [wantsOther, setOther] = useState(false);
  const isOther = wantsOther || names.length === 0;
  const agent = chosen ?? (isOther ? '' : (names[0] ?? ''));
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
        <Select
          id="known-agent"
          label="Agent of the new conversation"
          value={isOther ? '' : agent}
          options={[...names.map((name) => [name, name] as const), ['', 'another …']]}
          choose={(name) => {
            setOther(name === '');
            setAgent(name);
          }}
        />
      </label>
      {isOther && (
        <>
          <label class="field-beside">
            Name{' '}
            <input
              id="agent"
              type="text"
              required
              value={agent}
              onInput={({ currentTarget }) => setAgent(currentTarget.value)}
            />
          </label>
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
        </>
      )}
      <button class="button primary" type="submit">
        New conversation
      </button>
    </form>
  );
}

/** The agents that are known here: those of conversations, of what waits, and of the newest turns. */
function useKnownAgents(listed: readonly string[]): string[] {
  const [ofTurns, setOfTurns] = useState<readonly string[]>([]);
  useEffect(() => {
    void send<TurnsPage>('GET', 'api/turns?limit=100').then((reply) => {
      if (reply.ok) setOfTurns(reply.data.turns.map(({ agent }) => agent));
    });
  }, []);
  return [...new Set([...listed, ...ofTurns])].sort();
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
          <Ago at={startedAt} now={now} /> · <Code of={session} />
        </span>
      </a>
    </li>
  );
}

/** The milliseconds between two reads of the list. Each read costs the Temporal server a query. */
const EVERY_MS = 5_000;

/**
 * Reads the list repeatedly while the tab is visible, because a new message causes no event that this page receives.
 */
function useConversations({ agent, older }: Part): ConversationsPage | undefined {
  const { fail } = useAppContext();
  const [page, setPage] = useState<ConversationsPage>();
  const isVisible = useTabVisible();
  const isSaid = useRef(false);
  useEffect(() => setPage(undefined), [agent, older]);
  useEffect(() => {
    if (!isVisible) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isLeft = false;
    const read = async (): Promise<void> => {
      const reply = await readConversations({ agent, older });
      if (isLeft) return;
      // A server of another version does not know this place in the list.
      if (!reply.ok && reply.status === 400 && older !== '')
        return showInList({ at: 'conversations' }, queryOf({ agent }));
      if (reply.ok) setPage(reply.data);
      // The failure is shown once, and not every five seconds.
      else if (!isSaid.current || reply.status === 401) fail(reply);
      isSaid.current = !reply.ok;
      timer = setTimeout(() => void read(), EVERY_MS);
    };
    void read();
    return () => {
      isLeft = true;
      clearTimeout(timer);
    };
  }, [isVisible, agent, older]);
  return page;
}
