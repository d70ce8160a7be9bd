import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../contract/digest';
import { errorMessage } from '../contract/errors';
import { isJsonObject, type JsonObject } from '../contract/json';
import { readJson } from '../contract/read-json';
import type { HookToolSettings } from '../tools/permit-tools';
import { permitName } from '../tools/permit-tools';
import type { Gateway } from './gateway';

/** The coding agents whose hooks are understood. */
export type HookedAgent = 'claude-code' | 'codex';

/** The time that `hook --print` gives a hook, in seconds: a day, for people who sleep. */
const HOOK_SECONDS = 86_400;

/**
 * The answer comes so much earlier, in milliseconds: an agent lets a call pass whose hook is late. Withdrawing the request
 * and closing the worker can take most of it.
 */
const MARGIN_MS = 60_000;

const eventSchema = z.looseObject({
  hook_event_name: z.string().optional(),
  tool_name: z.string().min(1),
  tool_input: z.custom<JsonObject>(isJsonObject, 'is not JSON'),
  tool_use_id: z.string().min(1).max(200).optional(),
  session_id: z.string().max(200).optional(),
});

/** What an agent may do with a call. `pass`: the gate does not know the tool. */
export type HookAnswer =
  | { answer: 'pass' }
  | { answer: 'allow'; reason: string; input: JsonObject; isChanged: boolean }
  | { answer: 'deny'; reason: string };

/** A gateway that is being opened for a hook, and the tools that wait for a decision. */
interface HookParts {
  hookTools: Readonly<Record<string, HookToolSettings>>;
  open(): Promise<Gateway>;
  who: string;
  /** Aborts when the agent does not wait any more. */
  signal: AbortSignal;
  /** @default a day, less the margin */
  waitMs?: number;
}

/** Answers one event of an agent. Never rejects: what is not clearly approved is denied. */
export async function answerHook(text: string, parts: HookParts): Promise<HookAnswer> {
  // A person approves exactly what the agent runs, so a text that two readers may take for different things is denied.
  const read = readJson(text);
  const parsed = eventSchema.safeParse(read.ok ? read.value : undefined);
  if (!parsed.success) return deny('the event of this hook cannot be understood');
  const { data } = parsed;
  if ((data.hook_event_name ?? PRE_TOOL_USE) !== PRE_TOOL_USE) return { answer: 'pass' };
  if (!Object.hasOwn(parts.hookTools, data.tool_name)) return { answer: 'pass' };
  const timeout = AbortSignal.timeout(parts.waitMs ?? HOOK_SECONDS * 1000 - MARGIN_MS);
  try {
    const gateway = await parts.open();
    return await permit(gateway, data, { ...parts, signal: AbortSignal.any([parts.signal, timeout]) });
  } catch (error) {
    return deny(timeout.aborted ? 'nobody decided in time; the request was withdrawn' : errorMessage(error));
  }
}

const PRE_TOOL_USE = 'PreToolUse';

async function permit(
  gateway: Gateway,
  { tool_name: name, tool_input: input, tool_use_id: id, session_id: session }: z.output<typeof eventSchema>,
  { who, signal }: HookParts,
): Promise<HookAnswer> {
  const tool = permitName(name) ?? '';
  // Each agent runs what it is allowed by itself, so two calls never share a decision. An id may be of its session alone.
  const key = session === undefined || id === undefined ? ['hook', randomUUID()] : ['hook', session, id];
  const end = await gateway.decide({ who, tool, arguments: input, key }, signal);
  if (end.kind !== 'result') return deny(end.message);
  const { result } = end;
  if (!result.success) return deny(result.content);
  const changed = result.arguments;
  const isChanged = canonicalJson(changed) !== canonicalJson(input);
  return { answer: 'allow', reason: result.content, input: changed, isChanged };
}

function deny(reason: string): HookAnswer {
  return { answer: 'deny', reason: `Countersign: ${reason}` };
}

/** An answer as Claude Code reads it. */
export function claudeCodeOutput(answered: HookAnswer): JsonObject {
  if (answered.answer === 'pass') return {};
  const { answer, reason } = answered;
  const output: JsonObject = {
    ...{ hookEventName: PRE_TOOL_USE, permissionDecision: answer, permissionDecisionReason: reason },
  };
  if (answered.answer === 'allow') output['updatedInput'] = answered.input;
  return { hookSpecificOutput: output };
}

/** Why Codex has to leave a call, as it reads it beside the exit code 2. Undefined: it may go on. */
export function codexRefusal(answered: HookAnswer): string | undefined {
  if (answered.answer === 'pass') return undefined;
  if (answered.answer === 'deny') return answered.reason;
  if (!answered.isChanged) return undefined;
  // Codex runs what it asked for, and takes no other input.
  return `Countersign: a person approved this call with changes only. Make it again with: ${JSON.stringify(answered.input)}`;
}

/** The settings by which an agent asks before calls of these tools. */
export function hookSettings(
  agent: HookedAgent,
  tools: readonly string[],
  how: { command: string } | { url: string },
): JsonObject {
  const hook: JsonObject =
    'command' in how
      ? { type: 'command', command: how.command }
      : {
          ...{ type: 'http', url: how.url },
          headers: { Authorization: 'Bearer $COUNTERSIGN_TOKEN' },
          allowedEnvVars: ['COUNTERSIGN_TOKEN'],
        };
  const matcher = tools.map((tool) => tool.replaceAll(/[^A-Za-z0-9_-]/g, '.')).join('|');
  hook['timeout'] = HOOK_SECONDS;
  // Without this, Claude Code lets a call pass whose hook fails or is late.
  if (agent === 'claude-code') hook['onFailure'] = 'block';
  return { hooks: { [PRE_TOOL_USE]: [{ matcher, hooks: [hook] }] } };
}
