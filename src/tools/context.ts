import { z } from 'zod';
import type { CallProgress } from '../contract/call';
import { isSoundJson, type Json } from '../contract/json';
import { redactSecrets } from '../contract/text/redact';
import type { CallLog } from './call-log';
import { cutOutput } from './cut-output';
import { messageOf, toPrettyJson } from './format-result';
import { createSecrets, type Secrets } from './secrets';
import type { CallContext } from './types';

/** The facts about a call that are known before it runs. */
export type CallFacts = Pick<CallContext, 'callId' | 'tool'> &
  Partial<Omit<CallContext, keyof ContextFunctions>>;

type ContextFunctions = Pick<
  CallContext,
  'signal' | 'partial' | 'progress' | 'checkpoint' | 'ask' | 'log' | 'secrets'
>;

/** Receives what a handler reports while it runs. Contract: does not throw. */
export interface Live {
  partial?(text: string): void;
  progress?(progress: CallProgress): void;
  checkpoint?(value: Json): void;
  /** Absent: nobody can be asked. Contract: see CallContext. */
  ask?: CallContext['ask'];
}

/** The dependencies of a context's functions. */
interface ContextDeps {
  secrets?: Secrets;
  log?: CallLog;
}

/** The context of a handler, a preview or a verify. `live` is missing if nobody receives the handler's reports. */
export function makeContext(
  facts: CallFacts,
  { secrets = createSecrets(), log }: ContextDeps,
  { signal, live = {} }: { signal: AbortSignal; live?: Live },
): CallContext {
  const { callId, tool } = facts;
  const write = (level: 'DEBUG' | 'INFO' | 'WARN' | 'ERROR'): CallContext['log']['info'] => {
    return (message, details) => log?.line(level, { callId, tool }, lineOf(secrets, message, details));
  };
  return {
    agent: '',
    idempotencyKey: '',
    attempt: 1,
    ranBefore: false,
    metadata: {},
    ...facts,
    signal,
    partial: (text) => live.partial?.(String(text)),
    progress: (part, text) => live.progress?.(toProgress(secrets, part, text)),
    checkpoint: (value) => live.checkpoint?.(toCheckpoint(secrets, value)),
    ask: live.ask,
    log: { debug: write('DEBUG'), info: write('INFO'), warn: write('WARN'), error: write('ERROR') },
    secrets: { get: (name) => secrets.get(name, signal), hide: secrets.hide },
  };
}

function lineOf({ hide }: Secrets, message: unknown, details: unknown) {
  const facts = details === undefined ? '' : ` ${toPrettyJson(redactSecrets(details))}`;
  return hide(`${messageOf(message)}${facts}`);
}

const PROGRESS_BYTES = 500;

function toProgress({ hide }: Secrets, part: unknown, text: unknown): CallProgress {
  const fraction = typeof part === 'number' && part >= 0 ? Math.min(part, 1) : undefined;
  const words = typeof part === 'number' ? text : part;
  const shown = words === undefined ? undefined : cutOutput(hide(messageOf(words)), PROGRESS_BYTES);
  return { fraction, text: shown };
}

const CHECKPOINT_BYTES = 64 * 1024;
const checkpointSchema = z.json();

function toCheckpoint({ hide }: Secrets, value: unknown): Json {
  // zod would leave out a field `__proto__`.
  const parsed = checkpointSchema.safeParse(isSoundJson(value) ? value : undefined);
  if (!parsed.success) throw new TypeError('a checkpoint has to be plain JSON');
  const text = JSON.stringify(parsed.data);
  if (Buffer.byteLength(text) > CHECKPOINT_BYTES)
    throw new TypeError(`a checkpoint has at most ${CHECKPOINT_BYTES} bytes of JSON`);
  if (hide(text) === text) return parsed.data;
  const hidden: unknown = JSON.parse(text, (_, item: unknown) =>
    typeof item === 'string' ? hide(item) : item,
  );
  const left = JSON.stringify(hidden);
  if (hide(left) !== left)
    throw new TypeError('a checkpoint must not hold a secret as a number or as the name of a field');
  return checkpointSchema.parse(hidden);
}
