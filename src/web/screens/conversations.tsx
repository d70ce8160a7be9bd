import { useEffect, useRef, useState } from 'preact/hooks';
import { counted } from '../../history/labels';
import type { ConversationRow, ConversationsPage, TurnsPage } from '../../server/api';
import { newDecisionId, send } from '../http';
import { describeConversation } from '../model/conversation';
import { hrefOf, parametersOf, queryOf } from '../model/route';
import { goTo, showInList, useAppContext, usePolled } from '../ui/app';
import { ListRow, ListScreen } from '../ui/list';
import { Code, Text } from '../ui/text';
import { Button, Ago, Chip, Select } from '../ui/widgets';

/** The part of the list that is shown. Empty: all agents, and the newest page. */
interface Part {
  agent: string;
  older: string;
}

/** The milliseconds between two reads of the list. A new message causes no event that this page receives. */
const EVERY_MS = 5_000;

/**
 * Conversations, the newest first, and the form that begins one. `query` chooses the conversations that are shown, as
 * in the address.
 */
export function ConversationsScreen({ query = '' }: { query: string | undefined }) {
  const { agent, older } = parametersOf(query, ['agent', 'older']);
  const path = `api/conversations?${queryOf({ agent, older })}`;
  const { data: page } = usePolled<ConversationsPage>(path, EVERY_MS, (status) => {
    // A server of another version does not know this place in the list.
    const isOld = status === 400 && older !== '';
    if (isOld) showInList({ at: 'conversations' }, queryOf({ agent }));
    return isOld;
  });
  const agents = useAgents(page?.conversations, agent);
  const { session } = useAppContext();
  return (
    <ListScreen
      name="conversations"
      title="Conversations"
      rows={page?.conversations}
      draw={(row) => <Row key={row.session} row={row} />}
      none={whyEmpty(page?.older, { agent, older })}
      after={
        typeof page?.older === 'string' && (
          <p class="older">
            <a href={hrefOf({ at: 'conversations', query: queryOf({ agent, older: page.older }) })}>
              Older conversations
            </a>
          </p>
        )
      }
    >
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
    </ListScreen>
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
function Begin({ agents }: { agents: readonly string[] }) {
  const names = useKnownAgents(agents);
  const [chosen, setAgent] = useState<string>();
  const [wantsOther, setOther] = useState(false);
  const isOther = wantsOther || names.length === 0;
  const agent = chosen ?? (isOther ? '' : (names[0] ?? ''));
  const [queue, setQueue] = useState('');
  const begin = (event: Event) => {
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
      <Button look="primary" type="submit">
        New conversation
      </Button>
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

function Row({ row }: { row: ConversationRow }) {
  const { session, agent, state, text, turns, waiting, asks, startedAt } = row;
  return (
    <ListRow
      to={{ at: 'conversation', session }}
      title={text === '' ? <span class="quiet">Nothing was said yet</span> : <Text of={text} kind="prose" />}
      chips={
        <>
          {asks > 0 && <span class="chip ask">{asks} to decide</span>}
          <Chip of={describeConversation(state)} />
        </>
      }
    >
      <Text of={agent} /> · {counted(turns, 'turn')}
      {waiting > 0 && ` · ${counted(waiting, 'message')} waiting`} · started <Ago at={startedAt} /> ·{' '}
      <Code of={session} />
    </ListRow>
  );
}
