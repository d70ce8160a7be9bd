/**
 * `countersign/testing`: tools for tests of agents. The module has a scripted model, a server for a test run, a worker
 * and a client with their own task queue, and decisions as a person would make them. Apart from the model nothing is
 * simulated.
 *
 * @module
 */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  connect,
  type Countersign,
  createView,
  type StartedTurn,
  type StartRequest,
  type TurnView,
} from './client';
import { CountersignError } from './contract/errors';
import type { RequestOpened } from './history/events';
import { describePhase } from './history/labels';
import type { Accepted, Decision, Verdict } from './contract/decision';
import type { JsonObject } from './contract/json';
import type { Progress } from './engine/engine';
import { resolveEngine } from './engine/resolve';
import { startServer } from './engine/server';
import { type ConfigOptions, defineConfig } from './tools/define-config';
import { makeContext } from './tools/context';
import type { CallContext } from './tools/types';
import { type RunningWorker, startWorker } from './worker';

export { scriptedModel, type ScriptedCall, type ScriptedReply, type ScriptedStep } from './models/scripted';

/** The request to wait for, and the longest wait. */
export interface WaitOptions {
  /** Waits only for a request of this tool. */
  tool?: string;
  /** Milliseconds. @default 30000 */
  timeoutMs?: number;
}

const TIMEOUT_MS = 30_000;

/**
 * Waits until a turn, or a workflow that gates calls, asks for a decision, and returns the first request that is open.
 *
 * @throws CountersignError `not_found` if the turn ends without asking, `still_waiting` when the time is over.
 */
export async function waitForRequest(
  client: Countersign,
  turn: string,
  { tool, timeoutMs = TIMEOUT_MS }: WaitOptions = {},
): Promise<RequestOpened> {
  const wanted = (view: TurnView): RequestOpened | undefined =>
    view.requests.find((request) => tool === undefined || request.tool === tool);
  const view = await watch(client, turn, { timeoutMs, isThere: (now) => wanted(now) !== undefined });
  const request = wanted(view);
  if (request !== undefined) return request;
  const what = tool === undefined ? 'a request' : `a request of ${tool}`;
  throw view.endedAt === null ? late(view, what, timeoutMs) : endedWithout(view, what);
}

/**
 * Waits for the new revision of a request whose arguments were changed.
 *
 * @throws CountersignError as `waitForRequest`.
 */
async function waitForRevision(
  client: Countersign,
  turn: string,
  { before, timeoutMs = TIMEOUT_MS }: Pick<WaitOptions, 'timeoutMs'> & { before: RequestOpened },
): Promise<RequestOpened> {
  const wanted = (view: TurnView): RequestOpened | undefined =>
    view.requests.find(({ callId, eventId }) => callId === before.callId && eventId > before.eventId);
  const view = await watch(client, turn, { timeoutMs, isThere: (now) => wanted(now) !== undefined });
  const request = wanted(view);
  if (request !== undefined) return request;
  const what = `a new request for ${before.callId}`;
  throw view.endedAt === null ? late(view, what, timeoutMs) : endedWithout(view, what);
}

/**
 * Waits until a turn has ended in any way, and returns everything that is on record about it.
 *
 * @throws CountersignError `still_waiting` when the time is over. The message names what the turn waits for.
 */
export async function waitForEnd(
  client: Countersign,
  turn: string,
  { timeoutMs = TIMEOUT_MS }: Pick<WaitOptions, 'timeoutMs'> = {},
): Promise<TurnView> {
  const view = await watch(client, turn, { timeoutMs, isThere: (now) => now.endedAt !== null });
  if (view.endedAt === null) throw late(view, 'its end', timeoutMs);
  return view;
}

interface Watch {
  timeoutMs: number;
  isThere: (view: TurnView) => boolean;
}

/**
 * Waits for a view that fits. Past events are not checked one by one, because a request that was once open may be
 * decided by now.
 */
async function watch(client: Countersign, turn: string, { timeoutMs, isThere }: Watch): Promise<TurnView> {
  const past = (await client.timeline(turn)).length;
  const view = createView();
  let seen = 0;
  for await (const event of client.follow(turn, { signal: AbortSignal.timeout(timeoutMs) })) {
    view.push(event);
    seen += 1;
    if (seen >= past && isThere(view.current())) return view.current();
  }
  // The time is over, or the turn has ended. The record now has more than the events that came in time.
  return client.view(turn);
}

function endedWithout({ turn, status, answer, error }: TurnView, what: string): CountersignError {
  return new CountersignError(
    'not_found',
    `turn ${turn} ended (${status}) without ${what}: ${answer ?? error?.message ?? ''}`,
    'Look at its timeline: was the call refused, or never made?',
  );
}

function late({ turn, status, calls }: TurnView, what: string, timeoutMs: number): CountersignError {
  const phases = calls.map((call) => `${call.callId} ${call.tool}: ${describePhase(call)[0]}`).join(', ');
  const message = `turn ${turn} is ${status}; waited ${timeoutMs} ms for ${what}. ${phases || 'No calls yet'}.`;
  return new CountersignError('still_waiting', message, 'Is something else open, or is a worker missing?');
}

/** The person who decides, and the reason. */
export interface NextOptions extends WaitOptions {
  reason?: string;
  /** @default 'test' */
  approver?: string;
}

/** How to approve. */
export interface ApproveOptions extends NextOptions {
  /**
   * The whole arguments that replace the proposed arguments. The decision is then `modified`. If the new arguments get
   * a new preview, that preview is approved, too.
   */
  arguments?: JsonObject;
  /** Approves only these hunks of a file proposal. */
  hunks?: string[];
}

/**
 * Waits for the next request of a turn, or of a workflow that gates calls, and approves it as it is or with other
 * arguments.
 *
 * @throws CountersignError as `waitForRequest`, and `refused` with the verdict as data.
 */
export function approveNext(
  client: Countersign,
  turn: string,
  options: ApproveOptions = {},
): Promise<Accepted> {
  const { arguments: args, hunks } = options;
  const decision = args === undefined ? 'approved' : 'modified';
  return decideNext(client, turn, {
    ...options,
    content: { decision, arguments: args, hunks },
  });
}

/** Waits for the next request and denies it. @throws CountersignError as `approveNext`. */
export function denyNext(client: Countersign, turn: string, options: NextOptions = {}): Promise<Accepted> {
  return decideNext(client, turn, { ...options, content: { decision: 'denied' } });
}

type Content = Pick<Decision, 'decision' | 'arguments' | 'hunks'>;
type Deciding = NextOptions & { content: Content };

async function decideNext(client: Countersign, turn: string, deciding: Deciding): Promise<Accepted> {
  const request = await waitForRequest(client, turn, deciding);
  const verdict = await decideOn(client, { turn, request }, deciding);
  if (verdict.asksAgain !== true) return verdict;
  const revision = await waitForRevision(client, turn, { ...deciding, before: request });
  if (revision.note !== undefined) throw refused(`${turn}/${request.callId}: ${revision.note}`, verdict);
  return decideOn(client, { turn, request: revision }, { ...deciding, content: { decision: 'approved' } });
}

async function decideOn(
  client: Countersign,
  { turn, request }: { turn: string; request: RequestOpened },
  { content, reason, approver = 'test' }: Deciding,
): Promise<Accepted> {
  const { callId, callKey, seenDigest } = request;
  const seen = { callId, callKey, seenDigest, approver, channel: 'test' };
  const answer = await client.decide(turn, { ...seen, ...content, reason });
  if (answer.status === 'accepted') return answer.verdict;
  if (answer.status === 'refused') {
    const { code, message } = answer.verdict;
    throw refused(`${turn}/${callId} was refused, ${code}: ${message}`, answer.verdict);
  }
  throw new CountersignError(
    'still_waiting',
    `no worker answered the decision on ${turn}/${callId}`,
    'It is recorded and takes effect when a worker returns.',
  );
}

function refused(message: string, verdict: Verdict): CountersignError {
  return new CountersignError('refused', message, { data: { verdict } });
}

/** How to start a server for a test run. */
export interface TestServerOptions {
  /** Called with lines about downloads and builds of a first run. @default nobody */
  progress?: Progress;
  /** @default 'default' */
  namespace?: string;
}

/** A Temporal server for one test run. */
export interface TestServer {
  address: string;
  namespace: string;
  /** Ends the server, and everything in it is lost. Has no effect on a server that `COUNTERSIGN_TEST_ADDRESS` names. */
  stop(): Promise<void>;
}

/**
 * Starts a Temporal server in memory on a free port. The server ends with this process, however the process ends.
 * `TEMPORAL_ADDRESS` and `temporal.toml` are ignored, because a test must not reach a server that somebody works with.
 * To use a running server, name it in `COUNTERSIGN_TEST_ADDRESS`. The first run on a machine may download or build the
 * server.
 *
 * @throws CountersignError `no_server`, which says what was tried, or `server_failed`.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { namespace = 'default', progress = () => undefined } = options;
  const address = process.env['COUNTERSIGN_TEST_ADDRESS'];
  if (address) return { address, namespace, stop: () => Promise.resolve() };
  const engine = await resolveEngine(withoutSettings(process.env), { progress });
  if (engine.kind === 'existing') throw new CountersignError('no_server', 'no server can be started here');
  const server = await startServer({ binary: engine.binary, headless: true, namespace, progress });
  return { address: server.address, namespace: server.namespace, stop: server.stop };
}

/** The environment without settings of a server. A config file that does not exist names no server. */
function withoutSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const rest = Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_'));
  return { ...Object.fromEntries(rest), TEMPORAL_CONFIG_FILE: '/nowhere/temporal.toml' };
}

/** The options of a test environment: the agents, and hooks, a runner or a log if a test needs them. */
export interface TestEnvironmentOptions extends Omit<ConfigOptions, 'taskQueue' | 'stateDir'> {
  /** The server from `startTestServer`, or the address of another server. */
  server: Pick<TestServer, 'address' | 'namespace'>;
  /** Path of your own workflow bundle. @default the one in this package */
  workflowBundle?: string;
}

/** A worker with its own task queue, and a client for it. */
export interface TestEnvironment {
  readonly client: Countersign;
  readonly taskQueue: string;
  /** Starts a turn of one of the agents. `origin` has the requester and the metadata, as in `start` of a client. */
  start(
    agent: string,
    prompt: string,
    origin?: Pick<StartRequest, 'requester' | 'metadata'>,
  ): Promise<StartedTurn>;
  /** Drains and stops the worker as a deployment would, and starts another worker on the same task queue. */
  restart(): Promise<void>;
  /** Ends the worker and the client, and removes what they stored. */
  stop(): Promise<void>;
}

/**
 * Starts a worker for these agents, with its own task queue, state directory and client. Environments do not disturb
 * each other, so one server is enough for all tests of a run. Calls are logged only if you set `log`.
 *
 * @throws CountersignError as `startWorker` and `connect`.
 */
export async function startTestEnvironment({
  server,
  workflowBundle,
  ...config
}: TestEnvironmentOptions): Promise<TestEnvironment> {
  const { address, namespace } = server;
  const taskQueue = `test-${randomUUID()}`;
  const stateDir = await mkdtemp(join(tmpdir(), 'countersign-test-'));
  const settings = {
    address,
    namespace,
    logLevel: 'ERROR' as const,
    workflowBundle,
    config: defineConfig({ log: { calls: false }, ...config, taskQueue, stateDir }),
  };
  let worker: RunningWorker = await startWorker(settings);
  const client = await connect({ address, namespace });
  return {
    client,
    taskQueue,
    start: (agent, prompt, origin = {}) => client.start({ agent, prompt, taskQueue, ...origin }),
    restart: async () => {
      await worker.stop();
      worker = await startWorker(settings);
    },
    stop: async () => {
      await client.close();
      await worker.stop();
      await rm(stateDir, { recursive: true, force: true });
    },
  };
}

/** The context for a handler, a preview or a verify that a test calls without a turn. Each part can be overridden. */
export function testContext(given: Partial<CallContext> = {}): CallContext {
  const { signal = new AbortController().signal } = given;
  return {
    ...makeContext({ callId: '1.1', tool: 'tool', idempotencyKey: 'test' }, {}, { signal }),
    ...given,
  };
}
