import type { CallInput } from './call';
import type { JsonObject } from './json';

const VALUE_CHARS = 300;

/** As much of a call as its note tells. */
export type NotedCall = Pick<CallInput, 'decision' | 'proposed' | 'arguments'>;

/**
 * What the model reads before the result of a call that a person changed or remarked on: what was changed, by whom and
 * why, so that it does not redo the original. Undefined where there is nothing to tell.
 */
export function decisionNote(call: NotedCall): string | undefined {
  const { decision, proposed, arguments: effective } = call;
  if (decision === undefined) return undefined;
  const { edit, ...approval } = decision;
  const remark = `${approval.approver} approved this call.${because(approval.reason)}`;
  if (proposed === undefined || edit === undefined)
    return because(approval.reason) === '' ? undefined : `[${remark}]`;
  const changes = changedArguments(proposed, effective);
  const sameSaid = edit.approver === approval.approver && edit.reason === approval.reason;
  return [
    `[${edit.approver} changed the arguments of this call before it ran.${because(edit.reason)}`,
    ...changes.map(({ name, before, after }) => `  ${name}: ${before} → ${after}`),
    ...(sameSaid ? [] : [remark]),
    'The result below is of the changed call. Do not ask for the original again.]',
  ].join('\n');
}

function because(reason: string | undefined): string {
  return reason === undefined || reason === '' ? '' : ` Reason: ${reason}`;
}

function changedArguments(proposed: JsonObject, effective: JsonObject) {
  const names = [...new Set([...Object.keys(proposed), ...Object.keys(effective)])];
  return names
    .map((name) => ({ name, before: show(proposed[name]), after: show(effective[name]) }))
    .filter(({ before, after }, index) => before !== after || !same(proposed, effective, names[index]));
}

function same(proposed: JsonObject, effective: JsonObject, name: string | undefined): boolean {
  if (name === undefined) return true;
  return JSON.stringify(proposed[name]) === JSON.stringify(effective[name]);
}

function show(value: unknown): string {
  if (value === undefined) return '(absent)';
  const text = JSON.stringify(value);
  return text.length <= VALUE_CHARS ? text : `${text.slice(0, VALUE_CHARS)}… (${text.length} characters)`;
}

/** The content of a result as the model reads it: after the note, which is never put there twice. */
export function withDecisionNote(call: NotedCall, content: string): string {
  const note = decisionNote(call);
  return note === undefined || content.startsWith(note) ? content : `${note}\n\n${content}`;
}
