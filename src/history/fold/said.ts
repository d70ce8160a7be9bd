import { DECISIONS, RESOLUTIONS, type Accepted } from '../../contract/decision';
import { isObject, type JsonObject } from '../../contract/json';
import { defined } from '../defined';
import type { DecisionMade, Door, EventHead, Judgement, Resolved, Said } from '../events';
import { headOf } from './state';

/** A decision or resolution with what became of it. */
export interface Judged {
  input: unknown;
  identity: string;
  door: Door;
  judgement: Judgement;
  /** Only where it came by update and was accepted. */
  verdict?: Accepted;
}

/** The event of a judged decision. Its payload may be anything: what cannot be read is left out. */
export function decisionEvent(head: EventHead, judged: Judged): DecisionMade {
  const { input, judgement, verdict } = judged;
  const decision = DECISIONS.find((one) => one === valueAt(input, 'decision'));
  const args = valueAt(input, 'arguments');
  const hunks = valueAt(input, 'hunks');
  return {
    type: 'decision',
    ...headOf(head),
    ...saidOf(judged),
    callId: textAt(input, 'callId') ?? '',
    judgement,
    ...defined({
      decision,
      arguments: isJsonObject(args) ? args : undefined,
      hunks: isTexts(hunks) ? hunks : undefined,
      argsDigest: textAt(input, 'argsDigest'),
      asksAgain: verdict?.asksAgain,
    }),
  };
}

/** The event of a judged resolution. */
export function resolvedEvent(head: EventHead, judged: Judged): Resolved {
  const { input, judgement } = judged;
  const resolution = RESOLUTIONS.find((one) => one === valueAt(input, 'resolution'));
  const callId = textAt(input, 'callId') ?? '';
  const content = textAt(input, 'content');
  return {
    type: 'resolved',
    ...headOf(head),
    ...saidOf(judged),
    callId,
    judgement,
    ...defined({ resolution, content }),
  };
}

/** The claimed approver, channel and reason, with the defaults the workflow uses. */
export function saidOf({ input, identity, door, verdict }: Omit<Judged, 'judgement'>): Said {
  return {
    approver: verdict?.approver ?? textAt(input, 'approver') ?? 'somebody',
    channel: textAt(input, 'channel') ?? door,
    door,
    identity,
    ...defined({
      authenticated: valueAt(input, 'authenticated') === true ? (true as const) : undefined,
      reason: textAt(input, 'reason'),
      decisionId: verdict?.decisionId ?? textAt(input, 'decisionId'),
    }),
  };
}

/** A text field of a payload that may be anything. */
export function textAt(input: unknown, key: string): string | undefined {
  const value = valueAt(input, key);
  return typeof value === 'string' ? value : undefined;
}

function valueAt(input: unknown, key: string): unknown {
  return isObject(input) ? input[key] : undefined;
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}
