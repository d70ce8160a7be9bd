import { randomUUID } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
import type { Countersign } from '../../client';
import { CountersignError, usageError } from '../../contract/errors';
import { TASK_QUEUE } from '../../contract/names';
import { shellWord } from '../../contract/text/shell-word';
import type { SessionView } from '../../history/session/view';
import { type Chat, type ChatEvent, endOf, followChat, noteWaits } from '../chat/follow';
import { chatAtTerminal } from '../chat/talk';
import type { Context } from '../context';
import { EXIT } from '../exit-codes';
import { readBudget, sessionBudgetOption } from './run';
import { addStartOptions, readFacts } from '../flags';
import { queueOf } from '../load-config';
import { escapeLines, escapeText } from '../../contract/text/escape';
import { eventLines } from '../print/event';
import { sessionOf } from '../open-session';
import { nearHint } from '../../tools/tool-names';
import { canAsk } from '../review/terminal';
import { watchSilence } from '../watch-turn';

interface ChatOptions {
  session?: string;
  queue?: string;
  meta?: readonly string[];
  budget?: readonly string[];
}

/** `chat <agent>`. */
export function addChat(program: Command, context: Context): void {
  const command = program
    .command('chat <agent>')
    .description(
      'talk with an agent in a session that outlives this terminal; each line of a pipe is a message',
    )
    .option(
      '--session <id>',
      'go on with this session, or start it (default: a new one, whose id is printed)',
    );
  addStartOptions(command)
    .addOption(sessionBudgetOption())
    .action((agent: string, options: ChatOptions) => chat(agent, options, context));
}

async function chat(agent: string, options: ChatOptions, context: Context) {
  const { queue, meta } = options;
  const { keyboard, json, as: name } = context;
  const id = options.session ?? `${agent}-${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const facts = meta && readFacts(meta);
  const budget = options.budget && readBudget(options.budget);
  await context.withClient(async (client) => {
    const before = await sessionOf(client, id);
    if (before) checkOpen(before, agent);
    const taskQueue = before === undefined ? await queueOf(queue, context) : undefined;
    if (before === undefined) await checkAgent(client, agent, taskQueue);
    const started = { agent, requester: name, metadata: facts, budget, taskQueue };
    const session = client.session(id, before ? {} : started);
    const plan: Chat = { client, session, agent, name, before };
    if (!json && canAsk(keyboard)) afterTalk(await chatAtTerminal(plan, keyboard, context), plan, context);
    else await chatByLines(plan, context);
  });
}

/** @throws CountersignError `not_found` where all workers of a queue said which agents they have, and none has this one. */
async function checkAgent(
  { client: { connection }, namespace }: Countersign,
  agent: string,
  name = TASK_QUEUE,
) {
  const { workersOf } = await import('../../client/pollers.js');
  const workers = await workersOf(connection, namespace, { name, half: 'activities' });
  // A worker says some seconds after its start what it has.
  const there = [...new Set(workers.flatMap(({ agents = [agent] }) => agents))];
  if (there.length === 0 || there.includes(agent)) return;
  const message = `no worker with agent "${agent}": those of the queue ${name} have ${there.join(', ')}`;
  const hint = 'Name another agent, or start a worker that has it.';
  throw new CountersignError('not_found', message + nearHint(agent, there), hint);
}

function checkOpen({ session, agent: known, state }: SessionView, agent: string) {
  if (known !== agent) {
    const hint = `Say: countersign chat ${shellWord(known)} --session ${shellWord(session)}`;
    throw usageError(`session ${session} is of the agent ${known}, not of ${agent}`, hint);
  }
  if (['open', 'paused'].includes(state)) return;
  const hint = 'Start a session with another id.';
  throw new CountersignError('refused', `session ${session} takes no messages: it is ${state}`, {
    hint,
    data: { session },
  });
}

function afterTalk(
  end: Awaited<ReturnType<typeof chatAtTerminal>>,
  { session, agent }: Chat,
  { screen, command, exitWith }: Context,
) {
  if (end === 'ended') return;
  const back = `chat ${shellWord(agent)} --session ${shellWord(session.id)}`;
  screen.note('The session goes on. Come back:');
  screen.note(`  ${command(back)}`);
  if (end === 'interrupted') exitWith(EXIT.interrupted);
}

/**
 * Takes each line of stdin as a message, one after the other, and prints the answers. Everything else goes to stderr.
 *
 * @throws CountersignError `failed` at the end, if a turn gave no answer.
 */
async function chatByLines(plan: Chat, context: Context) {
  const { screen, json } = context;
  if (!json) screen.note(escapeText(`session ${plan.session.id}`));
  const stop = new AbortController();
  const interrupt = () => {
    context.exitWith(EXIT.interrupted);
    stop.abort();
  };
  process.once('SIGINT', interrupt);
  const mine = new Set<string>();
  const events = followChat(plan, { signal: stop.signal, mine });
  let turn: string | undefined;
  const silence = watchSilence(async () => {
    if (turn !== undefined) await noteWaits(plan, turn, (line) => screen.note(context.typed(line)));
  });
  const print = (event: ChatEvent) => {
    silence.broken();
    if (event.type === 'turn_started') ({ turn } = event);
    if (event.type === 'turn_ended') turn = undefined;
    // The whole reply arrives later in the event of its step.
    if (event.type === 'turn_text') return;
    if (json) screen.jsonLine(event);
    else printEvent(event, plan, context);
  };
  let failed: TurnEnd | undefined;
  try {
    for await (const text of messagesIn(context, stop.signal)) {
      const messageId = randomUUID();
      mine.add(messageId);
      const { status } = await plan.session.send({ text, messageId, sender: plan.name });
      if (status === 'recorded' && !json) screen.note(context.typed(NO_WORKER));
      const end = await endOfTurn(messageId, events, print);
      if (end === undefined) break;
      if (end.status !== 'answered') failed ??= end;
    }
  } finally {
    stop.abort();
    silence.end();
    process.removeListener('SIGINT', interrupt);
  }
  if (failed === undefined) return;
  const why = `${failed.turn} gave no answer; ${endOf(failed.status, failed.error)}`;
  throw new CountersignError('failed', why, { data: { turn: failed.turn } });
}

const NO_WORKER = 'on record; it takes effect when a worker returns: start one with `countersign worker`';

/**
 * The typed or piped messages. Each line is a message, and a line that ends in a backslash continues on the next. Empty
 * messages are left out.
 */
async function* messagesIn({ keyboard }: Context, signal: AbortSignal): AsyncGenerator<string> {
  if (keyboard === undefined) return;
  const lines = createInterface({ input: keyboard.input, crlfDelay: Infinity });
  signal.addEventListener('abort', () => lines.close(), { once: true });
  let parts: string[] = [];
  for await (const line of lines) {
    if (signal.aborted) return;
    const goesOn = line.endsWith('\\');
    parts.push(goesOn ? line.slice(0, -1) : line);
    if (goesOn) continue;
    const text = parts.join('\n');
    parts = [];
    if (text.trim() !== '') yield text;
  }
  if (parts.join('').trim() !== '') yield parts.join('\n');
}

type TurnEnd = Extract<ChatEvent, { type: 'turn_ended' }>;

/** Reads events until the turn about a message is over, or the session ends. */
async function endOfTurn(
  messageId: string,
  events: AsyncGenerator<ChatEvent>,
  print: (event: ChatEvent) => void,
): Promise<TurnEnd | undefined> {
  let turn: string | undefined;
  for (;;) {
    const { value: event, done } = await events.next();
    if (done === true) return undefined;
    print(event);
    if (event.type === 'turn_started' && event.messageId === messageId) turn = event.turn;
    if (event.type === 'turn_ended' && event.status !== 'not_started' && event.turn === turn) return event;
  }
}

/** Prints only the answer to stdout, because the person asked only for that. */
function printEvent(event: ChatEvent, { session }: Chat, { screen, command }: Context) {
  if (event.type === 'turn_ended' && event.answer !== undefined)
    screen.lines(escapeLines(event.answer.trimEnd(), screen.style.mark, 'prose'));
  if (event.type === 'session_ended')
    screen.note(escapeText(`session ${session.id} is over: ${event.status}`));
  if (event.type !== 'turn_event') return;
  const { turn, event: happened } = event;
  if (happened.type !== 'request_opened' && happened.type !== 'in_doubt') return;
  for (const line of eventLines(happened, screen)) screen.note(line);
  const id = shellWord(`${turn}/${happened.callId}`);
  screen.note(`  ${command(`show ${id}`)} shows it, and how to decide it`);
}
