import { digestJson } from '../contract/digest';
import { CountersignError } from '../contract/errors';
import type { Decision } from '../contract/decision';
import type { JsonObject } from '../contract/json';
import type { RequestOpened } from '../history/events';
import type { CallView } from '../history/view';
import { hiddenIn } from './print/request';
import { setArgument, type Assignment } from './set-argument';

/** What a person changed or chose on the command line. */
export interface ApprovalChoice {
  /** `--args`: instead of what was proposed. */
  arguments?: JsonObject;
  /** `--set`, in order, on top of it. */
  assignments: readonly Assignment[];
  /** `--hunks`. */
  hunks?: readonly string[];
  /** `--saw`: head of the digest of what was looked at. */
  saw?: string;
}

/** A decision without who made it. */
export type Chosen = Pick<Decision, 'callId' | 'decision' | 'arguments' | 'hunks' | 'argsDigest' | 'callKey'>;

/**
 * The decision that a choice means: `modified` where the arguments differ from those proposed, `approved` otherwise.
 *
 * @throws CountersignError `usage` for a choice that does not fit the call.
 */
export function chooseApproval(call: CallView, choice: ApprovalChoice): Chosen {
  checkKind(call);
  if (call.request !== undefined) checkSight(call.request, choice.saw);
  const edited = editedArguments(call, choice);
  const { hunks } = choice;
  if (edited !== undefined && hunks !== undefined) throw usage('--hunks goes with unchanged arguments only');
  const head = { callId: call.callId, ...seen(call) };
  if (edited !== undefined) return { ...head, decision: 'modified', arguments: edited };
  if (hunks === undefined) return { ...head, decision: 'approved' };
  return { ...head, decision: 'approved', hunks: checkHunks(call, hunks) };
}

/** What the person saw of a call; sent with every decision, so that nothing else is decided. */
export function seen({ request }: CallView): { argsDigest?: string; callKey?: string } {
  return request === undefined ? {} : { argsDigest: request.argsDigest, callKey: request.callKey };
}

/** Reads `1,3`. */
export function parseHunks(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim());
  if (ids.some((id) => !/^[1-9]\d*$/.test(id))) {
    throw usage(`--hunks ${text}: these are no hunks`, 'Write their numbers, such as --hunks 1,3.');
  }
  return [...new Set(ids)];
}

function checkKind({ phase, callId }: CallView): void {
  if (phase !== 'in_doubt') return;
  throw usage(`${callId} is in doubt; it is resolved, not approved`, 'Use `countersign resolve`.');
}

/** What a person cannot have seen right is approved only by naming its digest, which `show` prints beside the marks. */
export function checkSight(request: RequestOpened, saw: string | undefined): void {
  if (saw !== undefined && !(saw.length >= 8 && request.argsDigest.startsWith(saw))) {
    throw new CountersignError(
      'decision_refused',
      `${request.callId} is not what you saw: --saw ${saw} does not fit`,
      {
        hint: 'Look at it again with `countersign show <turn>/<call>`.',
      },
    );
  }
  const hidden = hiddenIn(request);
  if (hidden > 0 && saw === undefined) {
    throw usage(
      `${request.callId} holds ${hidden} characters that do not show by themselves`,
      'Look at it with `countersign show <turn>/<call>` and approve with the --saw it prints.',
    );
  }
}

function editedArguments(call: CallView, choice: ApprovalChoice): JsonObject | undefined {
  const proposed = call.request?.arguments ?? call.effective;
  const edited = choice.assignments.reduce(setArgument, choice.arguments ?? proposed);
  return digestJson(edited) === digestJson(proposed) ? undefined : edited;
}

function checkHunks({ request }: CallView, hunks: readonly string[]): string[] {
  const there = request?.preview?.plan?.hunks.map(({ id }) => id) ?? [];
  if (there.length === 0) throw usage('this call proposes no hunks; --hunks is for file proposals');
  const unknown = hunks.filter((id) => !there.includes(id));
  if (unknown.length > 0)
    throw usage(`there is no hunk ${unknown.join(', ')}; there are ${there.join(', ')}`);
  return [...hunks];
}

function usage(message: string, hint?: string): CountersignError {
  return new CountersignError('usage', message, hint === undefined ? {} : { hint });
}
