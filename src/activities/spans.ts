import { Context } from '@temporalio/activity';
import type { CallInput, TurnOrigin } from '../contract/call';
import { type ModelReply, type ModelRequest, ModelError } from '../models/model';
import type { RunOutcome } from '../tools/outcome';
import type { NewSpan, OpenSpan, SpanFacts, SpanPlace, Traces } from '../system/traces';
import type { ActivityDeps } from './deps';
import type { ObservedFact, Observe } from './observed';
import type { ToolErrorCode } from '../contract/result';

/** The codes of calls whose handler never started. */
const NEVER_RAN: readonly string[] = [
  'denied',
  'expired',
  'refused',
  'validation',
  'tool_not_found',
] satisfies ToolErrorCode[];

/** The most characters of a text in a span, because collectors refuse large texts. */
const MOST_CHARACTERS = 16_384;

/** The turn that the current activity belongs to. */
function placeNow(origin: TurnOrigin | undefined): SpanPlace | undefined {
  const { workflowExecution, namespace } = Context.current().info;
  if (workflowExecution === undefined) return undefined;
  return { namespace, turn: workflowExecution.workflowId, trace: origin?.trace };
}

/** The parent of new spans in the current turn, as a `traceparent`. Undefined if no spans are written. */
export function traceHere({ traces }: ActivityDeps, origin: TurnOrigin | undefined): string | undefined {
  const place = placeNow(origin);
  return place && traces?.parentOf(place);
}

/** The model that is asked, with the agent and the turn that need the reply. */
interface AskedModel {
  agent: string;
  model: string;
  origin: TurnOrigin | undefined;
}

/** Asks a model once, in a span `chat`. */
export function inChatSpan(
  { traces, run }: ActivityDeps,
  asked: AskedModel,
  { request, ask }: { request: Omit<ModelRequest, 'signal'>; ask: () => Promise<ModelReply> },
): Promise<ModelReply> {
  const place = placeNow(asked.origin);
  if (traces === undefined || place === undefined) return ask();
  const text = (value: unknown) => (traces.hasContent ? shown(value, run.secrets) : undefined);
  const facts = { ...chatFacts(asked, place), 'gen_ai.input.messages': text(request.messages) };
  const span: NewSpan = { name: `chat ${facts['gen_ai.request.model']}`, isClient: true, facts };
  return traces.within(place, span, async (open) => {
    try {
      const reply = await ask();
      open.add({
        ...replyFacts(reply),
        'gen_ai.output.messages': text([
          { role: 'assistant', content: reply.text, toolCalls: reply.toolCalls },
        ]),
      });
      return reply;
    } catch (error) {
      open.fail(error instanceof ModelError ? error.kind : 'error');
      throw error;
    }
  });
}

function chatFacts({ agent, model }: AskedModel, { turn }: SpanPlace) {
  const [, provider, name = model] = /^([a-z][a-z0-9-]*):(.+)$/.exec(model) ?? [];
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': provider ?? NAME,
    'gen_ai.request.model': name,
    'gen_ai.agent.name': agent,
    'gen_ai.conversation.id': turn,
    'countersign.attempt': Context.current().info.attempt,
  };
}

/** The provider's name for models that name no provider in their id. */
const NAME = 'countersign';

function replyFacts({ usage = {}, finishReason }: ModelReply): SpanFacts {
  return {
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'gen_ai.response.finish_reasons': [finishReason],
  };
}

/** Runs the handler of a call, in a span `execute_tool`. */
export function inToolSpan(
  { traces, run }: ActivityDeps,
  input: CallInput,
  work: () => Promise<RunOutcome>,
): Promise<RunOutcome> {
  const place = placeNow(input.origin);
  if (traces === undefined || place === undefined) return work();
  const text = (value: unknown) => (traces.hasContent ? shown(value, run.secrets) : undefined);
  const facts = {
    ...toolFacts({ ...input, turn: place.turn }),
    'gen_ai.tool.call.id': input.id,
    'gen_ai.tool.call.arguments': text(input.arguments),
    'countersign.attempt': Context.current().info.attempt,
    'countersign.approved': input.decision !== undefined,
  };
  return traces.within(place, { name: `execute_tool ${input.tool}`, facts }, async (open) => {
    const outcome = await work();
    noteOutcome(open, outcome);
    open.add({ 'gen_ai.tool.call.result': text(outcome.result.content) });
    return outcome;
  });
}

function noteOutcome(open: OpenSpan, { result }: RunOutcome) {
  open.add({ 'countersign.outcome': result.error?.code ?? 'success' });
  if (result.error !== undefined) open.fail(result.error.code);
}

/** The call that a span is about. */
interface OfCall {
  agent: string;
  tool: string;
  callId: string;
  callKey?: string;
  turn: string;
}

function toolFacts({ agent, tool, callId, callKey, turn }: OfCall) {
  return {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': tool,
    'gen_ai.tool.type': 'function',
    'gen_ai.agent.name': agent,
    'gen_ai.conversation.id': turn,
    'countersign.call_id': callId,
    'countersign.call_key': callKey,
  };
}

/** Takes the facts that workflows report, for metrics and, if traces are on, for spans. */
export function observing(observe: Observe, traces: Traces | undefined) {
  return (turn: OfWorkflow, ...facts: ObservedFact[]) => {
    for (const fact of facts) {
      observe(fact);
      if (traces !== undefined) recordFact(traces, turn, fact);
    }
  };
}

/** The workflow that reports. */
interface OfWorkflow {
  namespace: string;
  workflowId: string;
}

/**
 * Writes the span of a fact that a workflow reports: a decision that was waited for, a call that never ran, or a turn
 * that is over. Replayed code reports nothing, so no span comes twice. But a workflow task that fails after the report
 * and is tried again may repeat a span. Both spans then have the same `countersign.call_key`.
 */
function recordFact(traces: Traces, turn: OfWorkflow, fact: ObservedFact) {
  if (fact.kind !== 'waited' && fact.kind !== 'ended' && fact.kind !== 'turn') return;
  const place: SpanPlace = {
    namespace: turn.namespace,
    turn: turn.workflowId,
    trace: fact.trace,
  };
  if (fact.kind === 'turn') return traces.record(place, { ...turnSpan(fact, turn.workflowId), isTurn: true });
  const { agent, tool, at } = fact;
  const facts = { ...toolFacts({ ...fact, turn: turn.workflowId }), 'countersign.outcome': fact.outcome };
  if (fact.kind === 'ended') {
    // A handler that ran has the span of its activity.
    if (!NEVER_RAN.includes(fact.outcome)) return;
    // A model can make up any number of tool names.
    const name = fact.outcome === 'tool_not_found' ? 'execute_tool' : `execute_tool ${tool}`;
    return traces.record(place, { name, facts, since: at, at, error: fact.outcome });
  }
  const { since, isEdited, votes } = fact;
  const decided = {
    'gen_ai.operation.name': undefined,
    'countersign.edited': isEdited,
    'countersign.votes': votes,
  };
  const waited = { 'countersign.wait_seconds': Math.max(0, at - since) / 1000, 'gen_ai.agent.name': agent };
  traces.record(place, { name: `decision ${tool}`, facts: { ...facts, ...decided, ...waited }, since, at });
}

function turnSpan(fact: Extract<ObservedFact, { kind: 'turn' }>, turn: string) {
  const { agent, outcome, since, at, usage = {}, steps } = fact;
  const facts = {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.provider.name': NAME,
    'gen_ai.agent.name': agent,
    'gen_ai.conversation.id': turn,
    'gen_ai.usage.input_tokens': usage.inputTokens,
    'gen_ai.usage.output_tokens': usage.outputTokens,
    'countersign.outcome': outcome,
    'countersign.steps': steps,
  };
  const error = outcome === 'failed' ? outcome : undefined;
  return { name: `invoke_agent ${agent}`, facts, since: since ?? at, at, error };
}

function shown(value: unknown, secrets: { hide(text: string): string } | undefined) {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return (secrets?.hide(text) ?? text).slice(0, MOST_CHARACTERS);
}
