import { defined } from '../../contract/defined';
import type { HeldMessage, SessionControl, ConversationSummary } from '../../contract/session';
import { addUsage, type Usage } from '../../contract/spending/usage';
import { addSpent, type Budget, noSpending, type Spent, spentInReply } from '../../contract/spending/budget';
import type { CarriedSpending } from '../../contract/spending/carried';
import type { MessageReceived, SessionEnded, SessionEvent, SessionStarted, SessionTurn } from './events';

/** A session, put together from its history. */
export interface SessionView {
  session: string;
  runId: string;
  agent: string;
  taskQueue: string;
  state: 'open' | 'paused' | 'closing' | SessionEnded['status'];
  turns: SessionTurn[];
  /** The summary that the model reads in place of the oldest turns. */
  summary?: ConversationSummary;
  /** Tokens and cost of the summaries that are on record. */
  summaryUsage: Usage;
  /** What the session may spend, by its start or by the last turn that ended. Absent if neither names a limit. */
  budget?: Budget;
  /** What the session's turns, their child turns and its summaries have spent. */
  spent: Spent;
  /**
   * The messages that the session took, each once, oldest first. Of earlier runs, only the messages that are on record.
   */
  messages: HeldMessage[];
  /** The messages that no turn has handled yet. */
  waiting: HeldMessage[];
}

/** A session after these events. Undefined if the start of a session is not among them. */
export function sessionViewOf(events: Iterable<SessionEvent>): SessionView | undefined {
  let view: SessionView | undefined;
  const turns = new Map<string, SessionTurn>();
  const held = new Map<string, HeldMessage>();
  const known: Known = { turns, held, once: new Set() };
  for (const event of events) {
    if (event.type === 'session_started') {
      const { summaryUsage = {}, spent = noSpending() } = view ?? {};
      view = { ...begin(event, known), summaryUsage, spent: event.spending?.spent ?? spent };
    } else if (view !== undefined) applyEvent(view, event, known);
  }
  if (view === undefined) return undefined;
  const done = new Set([...turns.values()].flatMap(({ messageId, took }) => [messageId, ...took]));
  const messages = [...held.values()];
  const waiting = messages.filter(({ messageId }) => !done.has(messageId));
  return {
    ...view,
    turns: [...turns.values()].filter(({ status }) => status !== 'not_started'),
    messages,
    waiting,
  };
}

const STATE_AFTER: Partial<Record<SessionControl['action'], SessionView['state']>> = {
  pause: 'paused',
  resume: 'open',
};

interface Known {
  turns: Map<string, SessionTurn>;
  held: Map<string, HeldMessage>;
  /** Ids of messages that arrived only once so far. A refusal that names such an id is about that message. */
  once: Set<string>;
}

function begin(
  { session, runId, agent, taskQueue, earlier, waiting, summary, paused, budget, spending }: SessionStarted,
  { turns, held }: Known,
): Omit<SessionView, 'summaryUsage' | 'spent'> {
  for (const turn of earlier) if (!turns.has(turn.turn)) turns.set(turn.turn, turn);
  for (const message of waiting) if (!held.has(message.messageId)) held.set(message.messageId, message);
  const none = { turns: [], messages: [], waiting: [] };
  const state = paused === true ? 'paused' : 'open';
  return {
    session,
    runId,
    agent,
    taskQueue,
    state,
    ...none,
    summary,
    budget: spending?.budget ?? budget,
  };
}

function applyEvent(view: SessionView, event: Exclude<SessionEvent, SessionStarted>, known: Known) {
  const { turns, held, once } = known;
  switch (event.type) {
    case 'message':
      return addMessage(event, known);
    case 'message_refused':
      if (once.has(event.messageId)) held.delete(event.messageId);
      return;
    case 'turn_started': {
      const { turn, messageId, prompt, files, at } = event;
      const asked = { messageId, prompt, files };
      turns.set(turn, { turn, status: 'running', ...asked, took: [], startedAt: at });
      return;
    }
    case 'turn_ended': {
      const { turn, status, took, answer, error, at } = event;
      const before = turns.get(turn) ?? { turn, messageId: '' };
      turns.set(turn, { ...before, status, took, endedAt: at, ...defined({ answer, error }) });
      return countTurn(view, event);
    }
    case 'turn_recalled': {
      const before = turns.get(event.turn);
      if (before !== undefined) turns.set(event.turn, { ...before, took: event.took });
      return countTurn(view, event);
    }
    case 'compacted': {
      const { text, model, usage } = event;
      view.summary = { text, model, turns: (view.summary?.turns ?? 0) + event.turns };
      view.summaryUsage = addUsage(view.summaryUsage, usage);
      view.spent = addSpent(view.spent, spentInReply(event));
      return;
    }
    case 'compaction_failed':
      return;
    case 'control':
      if (event.action === 'close') view.state = 'closing';
      else if (view.state !== 'closing') view.state = STATE_AFTER[event.action] ?? view.state;
      return;
    case 'session_ended':
      view.state = event.status;
  }
}

function addMessage({ messageId, text, files, mode, at, sender }: MessageReceived, { held, once }: Known) {
  if (held.has(messageId)) once.delete(messageId);
  else {
    held.set(messageId, { messageId, text, mode, at, files, sender });
    once.add(messageId);
  }
}

function countTurn(view: SessionView, { spending }: { spending?: CarriedSpending }) {
  if (spending === undefined) return;
  view.spent = addSpent(view.spent, spending.spent);
  view.budget = spending.budget;
}
