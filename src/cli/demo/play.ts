import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Option } from 'commander';
import type { Decision } from '../../contract/decision';
import { CountersignError } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import type { RequestOpened } from '../../history/events';
import { assertTaken } from '../answer';
import { osUser } from '../context';
import { eventLines } from '../print/event';
import { proposalLines } from '../print/request';
import type { Screen } from '../print/screen';
import { newTextOf, SCENE, withNewText } from './scene';
import { connect, type Countersign } from '../../client';
import type { Engine } from '../../engine/engine';
import { resolveEngine } from '../../engine/resolve';
import { startServer } from '../../engine/server';
import type { RunningServer } from '../../engine/server-launch';
import { offlineModel } from '../../models/offline';
import { defineAgent } from '../../tools/define-agent';
import { type Config, defineConfig } from '../../tools/define-config';
import { createWorkspaceTools } from '../../tools/workspace';
import { startWorker } from '../../worker';
import { askUntilAnswered } from '../review/confirm';
import { TypedCommand } from '../typed-command';

/** Everything that the demo needs to play the turn. */
export interface Play {
  client: Countersign;
  taskQueue: string;
  answer: Answerer;
  screen: Screen;
  signal: AbortSignal;
}

/**
 * The result of the turn: its id, and the text that a person accepted for the file. Undefined: the person denied the
 * change.
 */
interface Played {
  turn: string;
  text: string | undefined;
}

/** Starts the turn, prints what happens as it happens, and answers every request. */
export async function play({ client, taskQueue, answer, screen, signal }: Play): Promise<Played> {
  const { turn } = await client.start({ agent: SCENE.agent, prompt: SCENE.prompt, taskQueue });
  let text: string | undefined;
  let round = 0;
  for await (const event of client.follow(turn, { signal })) {
    const lines = eventLines(event, screen);
    if (event.type !== 'request_opened') screen.lines(lines);
    if (event.type === 'turn_ended' && event.status !== 'answered')
      throw new CountersignError('failed', `the turn ended without an answer: ${event.status}`);
    if (event.type !== 'request_opened') continue;
    // The line of the event comes last, so that a small screen shows what is asked about.
    screen.lines(['', ...proposalLines(event, { turn, screen, now: Date.now() }), '', ...lines]);
    const reply = await answer(event.arguments, ++round);
    const proposed = reply.answer === 'approve' ? newTextOf(event.arguments) : undefined;
    text = reply.answer === 'edit' ? reply.text : proposed;
    assertTaken(await client.decide(turn, toDecision(event, reply)), `${turn}/${event.callId}`);
  }
  signal.throwIfAborted();
  if (round === 0) throw new CountersignError('failed', 'the agent proposed no change');
  return { turn, text };
}

function toDecision(event: RequestOpened, reply: Reply): Decision {
  const { callId, callKey, seenDigest } = event;
  const head = { callId, callKey, seenDigest, approver: osUser(), channel: 'cli' };
  if (reply.answer === 'approve') return { ...head, decision: 'approved' };
  if (reply.answer === 'deny') return { ...head, decision: 'denied', reason: reply.reason };
  return { ...head, decision: 'modified', arguments: withNewText(event.arguments, reply.text) };
}

/** Server, worker and a client that decides, all in this process. */
export interface Stage {
  client: Countersign;
  taskQueue: string;
  /** Temporal's own UI. Undefined on a server that already ran. */
  uiUrl?: string;
  /** Ends all parts that exist, in order. */
  close(): Promise<void>;
}

/** The options of a stage. */
interface StageOptions {
  root: string;
  env: NodeJS.ProcessEnv;
  note(text: string): void;
}

/** Gets a server, starts a worker, and connects. If a later part fails, the earlier parts are ended. */
export async function buildStage(options: StageOptions): Promise<Stage> {
  const closers: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const end of closers.splice(0).reverse()) await end();
  };
  try {
    return { ...(await buildParts(options, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function buildParts(
  { root, env, note }: StageOptions,
  closers: (() => Promise<void>)[],
): Promise<Omit<Stage, 'close'>> {
  const engine = await resolveEngine(env, { progress: note });
  const server = await openServer(engine, note);
  closers.push(server.stop);
  note('starting a worker');
  const config = demoConfig(root);
  const { address, namespace, uiUrl } = server;
  const stateDir = join(root, '..', 'state');
  const worker = await startWorker({ config, address, namespace, logLevel: 'ERROR', stateDir });
  closers.push(worker.stop);
  const client = await connect({ address, namespace });
  closers.push(() => client.close());
  return { client, taskQueue: config.taskQueue, uiUrl };
}

async function openServer(
  engine: Engine,
  note: (text: string) => void,
): Promise<Pick<RunningServer, 'address' | 'namespace' | 'stop'> & { uiUrl?: string }> {
  if (engine.kind === 'existing') {
    note(`using the Temporal server at ${engine.address}`);
    return { ...engine, stop: () => Promise.resolve() };
  }
  note(`starting a Temporal server (${engine.version}) that ends with the demo`);
  return startServer({ binary: engine.binary, progress: note });
}

/**
 * The config of the demo, with a separate queue: on a server that already runs, no other worker may take the demo's
 * turn.
 */
function demoConfig(root: string): Config {
  const agent = defineAgent({
    name: SCENE.agent,
    instructions: 'You keep the files of a small company. Look before you change anything.',
    model: offlineModel(),
    tools: createWorkspaceTools({ root }),
  });
  return defineConfig({ agents: [agent], taskQueue: `countersign-demo-${process.pid}` });
}

/** The answers that the demo takes from its command line, for machines without a terminal. */
const ANSWERS = ['approve', 'deny', 'edit'] as const;
type DemoAnswer = (typeof ANSWERS)[number];

/** How the demo runs. Without `answer` a person is asked. */
interface DemoOptions {
  answer?: DemoAnswer;
}

/**
 * Reads the command line of `npm run demo`.
 *
 * @throws CountersignError `usage` if nobody could answer or an option is wrong; CommanderError for help.
 */
export function readDemoOptions(args: readonly string[], isTerminal: boolean): DemoOptions {
  const command = new TypedCommand('npm run demo --')
    .description(
      'One agent turn on a copy of a small project: it reads, proposes a change, and waits for you.',
    )
    .addOption(new Option('--answer <answer>', 'answer without being asked').choices(ANSWERS))
    .allowExcessArguments(false)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined, outputError: () => undefined });
  const { answer } = command.parse(args, { from: 'user' }).opts<DemoOptions>();
  if (answer !== undefined) return { answer };
  if (isTerminal) return {};
  throw new CountersignError(
    'usage',
    'there is no terminal to ask at',
    `Say the answer: npm run demo -- --answer ${ANSWERS.join('|')}`,
  );
}

/** The person's reply to the proposal. */
type Reply = { answer: 'approve' } | { answer: 'edit'; text: string } | { answer: 'deny'; reason: string };

/** Answers a proposal; `round` counts from 1, because an edit comes back as a new proposal. */
type Answerer = (args: JsonObject, round: number) => Promise<Reply>;

/** Answers without a person: the first proposal may be edited once, and the next proposal is then approved. */
export function fixedAnswers(answer: DemoAnswer): Answerer {
  return (_args, round) => {
    if (answer === 'deny') return Promise.resolve({ answer, reason: 'the rename is not official yet' });
    if (answer === 'edit' && round === 1) return Promise.resolve({ answer, text: SCENE.edited });
    return Promise.resolve({ answer: 'approve' });
  };
}

/** Asks at the terminal. Ctrl-C and Ctrl-D call `interrupt`, and then there is no answer. */
export function askAtTerminal(signal: AbortSignal, interrupt: () => void): Answerer {
  const ask = (question: string) => askLine(question, signal, interrupt);
  return async (args) => {
    for (;;) {
      const word = await chooseWord(ask);
      if (word === 'approve') return { answer: word };
      if (word === 'deny')
        return { answer: word, reason: await askUntilAnswered({ ask }, 'Why not? The agent reads it: ') };
      const before = newTextOf(args);
      const text = await askUntilAnswered({ ask }, `New text instead of "${before}": `);
      // An edit asks for a second look, which the same text does not need.
      if (text !== before) return { answer: word, text };
    }
  };
}

type Ask = (question: string) => Promise<string>;

async function chooseWord(ask: Ask): Promise<DemoAnswer> {
  for (;;) {
    const said = (await ask('Your decision: [a]pprove, [e]dit, [d]eny? ')).trim().toLowerCase();
    const word = (['approve', 'edit', 'deny'] as const).find((one) => said !== '' && one.startsWith(said));
    if (word !== undefined) return word;
  }
}

async function askLine(question: string, signal: AbortSignal, interrupt: () => void): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  const closed = new AbortController();
  lines.once('SIGINT', interrupt);
  lines.once('close', () => closed.abort());
  try {
    return await lines.question(question, { signal: AbortSignal.any([signal, closed.signal]) });
  } catch (error) {
    // Ctrl-D: a person who closes the input wants to leave.
    if (!signal.aborted) interrupt();
    throw error;
  } finally {
    lines.close();
  }
}
