import { randomUUID } from 'node:crypto';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { z } from 'zod';
import { defined } from '../contract/defined';
import type { PreparedCall } from '../contract/call';
import { replyEntry, type TranscriptCall, type TranscriptEntry, utf8Bytes } from '../contract/transcript';
import type { ThinkInput, ThinkOutput } from '../contract/think';
import type { JsonSchema } from '../contract/tool';
import { type Model, type ModelCall, ModelError, type ModelMessage, type ModelReply } from '../models/model';
import type { Agent } from '../tools/define-agent';
import { cutOutput } from '../tools/cut-output';
import { offeredTools } from '../tools/find-tools';
import { uniqueIds } from '../tools/prepare';
import { bytesOf, conversationOf, earlierWords, type Memory, runOf } from './conversation';
import type { ActivityDeps } from './deps';
import { type AttemptGuard, describeLostAttempt, startHeartbeat } from './attempt';
import { lackOf, leaveToAnother, modelFailure } from './failures';
import { aboutTurn } from './execution';
import { type AskedCall, fitStep, prepareCall, prepareFitting } from './prepare-call';
import { span } from '../contract/text/times';
import { unlessAborted } from '../tools/within';
import { errorMessage } from '../contract/errors';

/** A reply's own text is cut to this, so that its calls still fit the result. */
const TEXT_BYTES = 512 * 1024;

/** Asks the model for one step and prepares the calls of its reply. Replay needs nothing but the result. */
export async function think(deps: ActivityDeps, input: ThinkInput): Promise<ThinkOutput> {
  const agent = agentOf(deps, input.agent);
  const model = modelOf(deps, agent, input.model);
  const tries = new ModelTries({ agent, model });
  tries.checkLost();
  const guard = startHeartbeat(tries.details);
  try {
    const entries = await conversationOf(input, deps.memory);
    const earlier = await earlierWords(input, deps.memory);
    const reply = await askModel({ agent, model }, [...earlier, ...entries], {
      guard,
      timeoutMs: tries.timeoutMs,
    });
    const output = await prepareStep(deps, { agent, model, input, reply });
    rememberStep(deps.memory, entries, output);
    return output;
  } catch (error) {
    // Stopped first: another heartbeat would replace the details that the failure leaves for the next attempt.
    guard.stop();
    throw tries.failureOf(error);
  } finally {
    guard.stop();
  }
}

/** The agent of this name; where this worker lacks it, another one of the queue may have it. */
export function agentOf(deps: ActivityDeps, name: string): Agent {
  const agent = deps.agents.get(name);
  if (agent !== undefined) return agent;
  throw leaveToAnother(deps, lackOf(deps, { agent: name }) ?? name);
}

/** The model of a step: the agent's own, or the one that a fork names. Another worker may have a model that this one lacks. */
function modelOf(deps: ActivityDeps, { name, model, models }: Agent, named: string | undefined): Model {
  if (named === undefined) return model;
  const found = models.get(named);
  if (found !== undefined) return found;
  const names = [...models.keys()].join(', ') || 'none';
  throw leaveToAnother(deps, `agent "${name}" has no model "${named}" here; its models: ${names}`);
}

async function prepareStep(
  deps: ActivityDeps,
  { agent, model, input, reply }: Asked & { input: ThinkInput; reply: ModelReply },
): Promise<ThinkOutput> {
  const text = cutOutput(reply.text, TEXT_BYTES);
  const asked = askedCalls(input.step, reply);
  const about = aboutTurn(input);
  const prepared = await prepareFitting(asked, (one) => prepareCall(agent, one, { ...deps, about }));
  const calls = fitStep(prepared, utf8Bytes(JSON.stringify(text)));
  return {
    replyId: randomUUID(),
    text,
    calls,
    schemas: schemasOf(agent, calls),
    model: model.id,
    finishReason: reply.finishReason,
    order: agent.order,
    maxSteps: agent.maxSteps,
    ...defined({ usage: reply.usage }),
  };
}

/** Longer than any provider's ids; an id is repeated in every record of its call. */
const ID_CHARACTERS = 200;

function askedCalls(step: number, reply: ModelReply): AskedCall[] {
  const given = reply.toolCalls.map(({ id }, index) => id ?? `call_${step}_${index + 1}`);
  const ids = uniqueIds(given.map((id) => ({ id: id.slice(0, ID_CHARACTERS) })));
  return reply.toolCalls.map((call, index) => ({
    callId: `${step}.${index + 1}`,
    id: ids[index] ?? '',
    tool: call.name,
    raw: call.arguments,
  }));
}

/** Schemas of the tools that wait for a decision; edits are checked against them in the workflow. */
function schemasOf(agent: Agent, calls: readonly PreparedCall[]): Record<string, JsonSchema> {
  const schemas: Record<string, JsonSchema> = {};
  for (const call of calls) {
    const tool = call.kind === 'ask' ? agent.registry.get(call.tool) : undefined;
    if (tool !== undefined) schemas[tool.digest] = tool.schema;
  }
  return schemas;
}

function rememberStep(memory: Memory, before: readonly TranscriptEntry[], output: ThinkOutput): void {
  const entries = [...before, replyEntry(output)];
  memory.remember(runOf(), { replyId: output.replyId, entries, bytes: bytesOf(entries) });
}

/** An agent, and the model that is asked for it. */
interface Asked {
  agent: Agent;
  model: Model;
}

/** Waits between attempts, doubled each time; a quarter more or less, so that a thousand turns do not come back at once. */
const WAIT_MS = { first: 1_000, most: 60_000 } as const;

/** Empty replies: how many in all, and how long after the first one the model is asked again. */
const EMPTY = { most: 3, withinMs: 15_000 } as const;

/** How many workers may die while they ask: what kills one would kill them all, one after the other. */
const LOST_MOST = 10;

/** An attempt ends by itself this long before Temporal's timeout, so that it can say why. */
const MARGIN_MS = 15_000;

/**
 * How the attempts of one step ended. It passes from attempt to attempt in the heartbeat details. Time without a worker
 * that has the agent is not the model's fault and does not count.
 */
const triesSchema = z.object({
  failures: z.number(),
  /** Milliseconds of the attempts that failed, and of the waits after them. */
  spentMs: z.number(),
  empty: z.number(),
  /** Milliseconds since the epoch; 0 where no reply was empty. */
  emptySince: z.number(),
  lost: z.number(),
  /** An attempt has begun and has not said how it ended. */
  open: z.boolean(),
});
type Tries = z.infer<typeof triesSchema>;

const NONE: Tries = { failures: 0, spentMs: 0, empty: 0, emptySince: 0, lost: 0, open: false };

/** How often and how long the model is asked for one step. Each attempt makes one. */
class ModelTries {
  private readonly from = Date.now();
  private readonly before: Tries;

  constructor(private readonly asked: Asked) {
    const recorded = triesSchema.safeParse(Context.current().info.heartbeatDetails).data ?? NONE;
    this.before = recorded.open ? { ...recorded, lost: recorded.lost + 1 } : recorded;
  }

  /** Details of this attempt's heartbeats. The first has none: a quick first attempt costs the server no heartbeat. */
  get details(): Tries | undefined {
    return Context.current().info.attempt === 1 ? undefined : { ...this.before, open: true };
  }

  /** How long this attempt may ask, in milliseconds. */
  get timeoutMs(): number {
    const { modelTimeoutMs, modelRetryForMs } = this.asked.agent;
    const { startToCloseTimeoutMs } = Context.current().info;
    const left = modelRetryForMs - this.before.spentMs;
    return Math.max(1, Math.min(modelTimeoutMs, left, startToCloseTimeoutMs - MARGIN_MS));
  }

  /** @throws ApplicationFailure for good, where asking has ended too many workers. */
  checkLost(): void {
    const { lost } = this.before;
    if (lost < LOST_MOST) return;
    const message = `${this.asked.model.id}: ${lost} workers ended while they asked the model`;
    throw modelFailure(new ModelError('server', message, { retryable: false }));
  }

  /** What a failed attempt throws: a failure that is tried again, and when, or one for good. */
  failureOf(error: unknown): unknown {
    if (error instanceof ApplicationFailure || error instanceof CancelledFailure) return error;
    if (error instanceof ModelError && !error.options.retryable) return modelFailure(error);
    const tries = this.after(error);
    const waitMs = Math.max(waitOf(tries), retryAfterOf(error));
    const why = this.whyNotAgain(error, tries, waitMs);
    if (why !== undefined) return modelFailure(error, { last: why });
    Context.current().heartbeat({ ...tries, spentMs: tries.spentMs + waitMs });
    return modelFailure(error, { waitMs });
  }

  private after(error: unknown): Tries {
    const { failures, spentMs, empty, emptySince, lost } = this.before;
    const isEmpty = error instanceof EmptyReply;
    return {
      failures: failures + 1,
      spentMs: spentMs + Date.now() - this.from,
      empty: empty + (isEmpty ? 1 : 0),
      emptySince: emptySince === 0 && isEmpty ? Date.now() : emptySince,
      lost,
      open: false,
    };
  }

  private whyNotAgain(error: unknown, tries: Tries, waitMs: number): string | undefined {
    const { failures, spentMs, empty, emptySince } = tries;
    if (error instanceof EmptyReply) {
      const isLate = Date.now() + waitMs - emptySince > EMPTY.withinMs;
      if (empty >= EMPTY.most || isLate) return `asked ${empty === 1 ? 'once' : `${empty} times`}`;
    }
    const { modelRetryForMs } = this.asked.agent;
    if (spentMs + waitMs < modelRetryForMs) return undefined;
    const times = failures === 1 ? 'one attempt' : `${failures} attempts`;
    const asks = retryAfterOf(error) < waitMs ? '' : `; it asks to wait ${span(waitMs)}`;
    return `given up after ${times} in ${span(spentMs)}${asks}; modelRetryFor is ${span(modelRetryForMs)}`;
  }
}

function waitOf({ failures }: Tries): number {
  const wait = Math.min(WAIT_MS.most, WAIT_MS.first * 2 ** Math.min(failures - 1, 10));
  return Math.round(wait * (0.75 + Math.random() / 2));
}

function retryAfterOf(error: unknown): number {
  return error instanceof ModelError ? (error.options.retryAfterMs ?? 0) : 0;
}

/** Asks the model once. What it throws names the model. */
async function askModel(
  { agent, model }: Asked,
  entries: readonly TranscriptEntry[],
  { guard, timeoutMs }: { guard: AttemptGuard; timeoutMs: number },
): Promise<ModelReply> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([timeout, guard.signal]);
  try {
    const reply = await unlessAborted(
      model.generate({
        instructions: agent.instructions,
        messages: toMessages(entries),
        tools: offeredTools(agent, entries),
        signal,
      }),
      // A model that ignores its signal must not hold the attempt.
      signal,
      () => new Error('the request was ended by its caller'),
    );
    return checked(reply, entries);
  } catch (error) {
    const lostReason = guard.lost();
    // The next attempt asks again; it is not the model's fault.
    if (lostReason !== undefined)
      throw modelFailure(new Error(describeLostAttempt(lostReason), { cause: error }));
    throw named(model, timeout.aborted ? tooSlow(timeoutMs, error) : error);
  }
}

/** A reply without text or calls, where no tool result came before it. */
class EmptyReply extends ModelError {}

/** After a tool's result an empty reply is an answer: some models end like this when nothing is left to say. */
function checked(reply: ModelReply, entries: readonly TranscriptEntry[]): ModelReply {
  const { text, toolCalls, finishReason } = reply;
  if (text !== '' || toolCalls.length > 0) return reply;
  const isCut = finishReason === 'length' || finishReason === 'error';
  if (entries.at(-1)?.kind === 'result' && !isCut) return reply;
  throw new EmptyReply('server', `the model answered nothing (${finishReason})`, { retryable: true });
}

function tooSlow(timeoutMs: number, cause: unknown): ModelError {
  return new ModelError('timeout', `the model did not answer within ${span(timeoutMs)}`, {
    retryable: true,
    cause,
  });
}

function named({ id }: Model, error: unknown): unknown {
  const message = errorMessage(error);
  if (message.startsWith(`${id}: `)) return error;
  const name = `${id}: ${message}`;
  if (error instanceof EmptyReply) return new EmptyReply(error.kind, name, error.options);
  if (error instanceof ModelError) return new ModelError(error.kind, name, error.options);
  return new Error(name, { cause: error });
}

/** The transcript as a model reads it. */
function toMessages(entries: readonly TranscriptEntry[]): ModelMessage[] {
  return entries.map(toMessage);
}

function toMessage(entry: TranscriptEntry): ModelMessage {
  if (entry.kind === 'words') return { role: 'user', content: entry.text };
  if (entry.kind === 'reply') {
    return { role: 'assistant', content: entry.text, toolCalls: entry.calls.map(toModelCall) };
  }
  return { role: 'tool', toolCallId: entry.id, toolName: entry.tool, content: entry.content };
}

function toModelCall(call: TranscriptCall): ModelCall {
  return { id: call.id, name: call.tool, arguments: call.raw ?? JSON.stringify(call.arguments) };
}
