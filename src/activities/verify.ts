import type { VerifyInput, VerifyOutput } from '../contract/call';
import { makeSuccess } from '../contract/make-result';
import type { Tool, Verification } from '../tools/types';
import { isOutcomeOf } from './journal';
import type { ActivityDeps } from './deps';
import { takeLease, type Lease } from './lease';
import { rejectOn } from './preview';

/** Finds out whether a call in doubt took effect: first this machine's journal, then the tool's own `verify`. Changes nothing. */
export async function verify(deps: ActivityDeps, input: VerifyInput): Promise<VerifyOutput> {
  const entry = await deps.journal.read(`${input.callKey}:${input.generation}`);
  if (entry.state === 'ended')
    return isOutcomeOf(entry.result, input)
      ? { outcome: 'happened', result: entry.result }
      : cannotTell('it ran with other arguments before');
  const tool = deps.agents.get(input.agent)?.registry.get(input.tool);
  if (tool?.verify === undefined) return cannotTell('the tool has no verify');
  const lease = takeLease();
  try {
    return toOutput(input, tool, await askTool(tool, input, lease));
  } catch (error) {
    return cannotTell(error instanceof Error ? error.message : String(error));
  } finally {
    lease.release();
  }
}

async function askTool(tool: Tool, input: VerifyInput, lease: Lease): Promise<Verification> {
  const parsed = tool.parse(input.arguments);
  if (!parsed.ok || tool.verify === undefined) return { outcome: 'cannot_tell' };
  const signal = AbortSignal.any([lease.signal, AbortSignal.timeout(tool.timeoutMs)]);
  const context = {
    callId: input.callId,
    tool: tool.name,
    idempotencyKey: `${input.callKey}:${input.generation}`,
    attempt: 1,
    signal,
    partial: () => {},
  };
  return Promise.race([tool.verify(parsed.value, context), rejectOn(signal)]);
}

function toOutput(input: VerifyInput, tool: Tool, answer: Verification): VerifyOutput {
  if (answer.outcome === 'cannot_tell') return cannotTell('the tool could not tell');
  if (answer.outcome === 'did_not') {
    return {
      outcome: 'did_not',
      message: 'The call was interrupted; the tool found that it did not take effect.',
    };
  }
  const facts = { timestamp: new Date().toISOString(), safety: tool.safety, approved: true };
  const content = `The call was interrupted; the tool found that it did take effect.\n\n${answer.content}`;
  const result = makeSuccess({ ...input, server: tool.server }, { content, contentType: 'text' }, facts);
  return { outcome: 'happened', result };
}

function cannotTell(message: string): VerifyOutput {
  return { outcome: 'cannot_tell', message };
}
