import type { FileRef } from '../contract/session/files';
import { describeFile } from '../contract/text/bytes';
import { isDenial } from '../contract/decision';
import type { JsonObject } from '../contract/json';
import { outputOf, type ToolResult } from '../contract/result';
import { span } from '../contract/text/times';
import type { Attribution, Judgement, TurnEvent, TurnEventOf } from './events';
import {
  counted,
  describeOutcome,
  describeState,
  grantText,
  howKnown,
  hunksText,
  type Tone,
  VERIFIED,
} from './labels';
import { SOMEBODY } from '../contract/authority';

/**
 * An event in words, the same on a terminal and on the page. Models, tools and people write `text`, so a screen makes
 * it safe before it shows it.
 */
interface EventLine {
  /** The subject of the event: `turn`, `step 2`, `2.1`. */
  label: string;
  text: string;
  tone?: Tone;
  /** Whether the line adds nothing to the events around it. */
  minor?: true;
}

/** The event in one line. */
export function describeEvent(event: TurnEvent): EventLine {
  switch (event.type) {
    case 'turn_started':
      return describeStart(event);
    case 'about':
      return turnLine(`is about ${event.prompt}`, 'quiet');
    case 'forked':
      return { label: 'fork', text: forkText(event) };
    case 'cancel_requested':
      return turnLine(`was asked to end by ${event.identity}${inBrackets(event.reason)}`, 'ask');
    case 'abandoned':
      return turnLine(`was given up by ${event.approver}${inBrackets(event.reason)}`, 'bad');
    case 'continued_as_new':
      return turnLine(
        event.moved === true
          ? 'moves to the current build; what waits is prepared anew'
          : 'continues as new: its history was long',
        'quiet',
      );
    case 'reset':
      return turnLine(`was reset by an operator${inBrackets(event.reason)}`, 'ask');
    case 'task_failed':
      return turnLine(`the workflow code failed and is tried again: ${event.message}`, 'bad');
    case 'turn_ended':
      return turnLine(endText(event), describeState(event.status)[1]);
    case 'thinking':
    case 'think_retried':
    case 'think_failed':
    case 'step':
      return { label: `step ${event.step}`, ...describeStep(event) };
    case 'call_prepared':
      return { label: event.call.callId, text: `is prepared: ${callText(event.call)}`, minor: true };
    default:
      return { label: event.callId || '?', ...describeCall(event) };
  }
}

function turnLine(text: string, tone: Tone): EventLine {
  return { label: 'turn', text, tone };
}

function describeStart({
  turn,
  agent,
  prompt,
  files,
  continuedFrom,
}: TurnEventOf<'turn_started'>): EventLine {
  if (continuedFrom !== undefined) return { label: 'turn', text: 'goes on in this run', minor: true };
  return { label: 'turn', text: `${turn}, agent ${agent}: ${truncate(prompt)}${withText(files)}` };
}

/** The files that come with words, as text. Empty if there are none. */
export function withText(files: readonly FileRef[] = []): string {
  return files.length === 0 ? '' : `, with ${files.map(describeFile).join(', ')}`;
}

function forkText({ of, from, world, changed, model, taken }: TurnEventOf<'forked'>) {
  const results = taken.filter(({ kind }) => kind === 'result').length;
  return [
    `a fork of ${of} from ${from} on, in a ${world} world`,
    ...(changed === undefined ? [] : [`another ${changed}`]),
    ...(model === undefined ? [] : [`the model ${model}`]),
    `${results} ${results === 1 ? 'result' : 'results'} taken from the record`,
  ].join('; ');
}

function endText({ status, answer, error }: TurnEventOf<'turn_ended'>) {
  const empty = status === 'answered' && answer === '' ? ': the model had nothing more to say' : '';
  return `${describeState(status)[0]}${empty}${error === undefined ? '' : `: ${error.message}`}`;
}

type Described = Omit<EventLine, 'label'>;

function describeStep(event: TurnEventOf<'thinking' | 'think_retried' | 'think_failed' | 'step'>): Described {
  switch (event.type) {
    case 'thinking':
      return { text: 'the model is asked', tone: 'quiet' };
    case 'think_retried':
      return { text: retriedText(event), tone: 'ask' };
    case 'think_failed':
      return { text: `the model failed: ${event.message}`, tone: 'bad' };
    case 'step':
      return replyText(event);
  }
}

function retriedText({ attempt, lastFailure, burst }: TurnEventOf<'think_retried'>) {
  const lost = burst === true ? '; steps that were not on record by then are taken anew from here' : '';
  return `it took ${attempt} attempts${inBrackets(lastFailure)}${lost}`;
}

/** A reply in words. The answer is shown with the end of the turn, so before that only text beside calls is new. */
function replyText({ text, calls }: TurnEventOf<'step'>): Described {
  if (calls.length === 0) return { text: 'the model answers', minor: true };
  if (text.trim() === '') return { text: `the model asks for ${counted(calls.length, 'call')}`, minor: true };
  return { text: `the model says: ${truncate(text.trim())}` };
}

type CallEvent = Exclude<Extract<TurnEvent, { callId?: string }>, { type: 'call_prepared' }>;

function describeCall(event: CallEvent): Described {
  switch (event.type) {
    case 'request_opened':
      return { text: `waits for a decision: ${requestText(event)}`, tone: 'ask' };
    case 'question_opened':
      return { text: `asks a person: ${truncate(event.question.text)}`, tone: 'ask' };
    case 'answered':
      return describeAnswer(event);
    case 'signal_recorded':
      return {
        text: `${SAID[event.signal]} of ${event.approver ?? SOMEBODY} is on record and waits for a worker`,
      };
    case 'decision':
      return describeDecision(event);
    case 'decision_void':
      return { text: `does not run: ${event.message}`, tone: 'ask' };
    case 'request_escalated':
      return { text: `nobody decided in time: ${event.to.join(', ')} may decide, too`, tone: 'ask' };
    case 'child_started':
      return { text: `is the turn ${event.child}` };
    case 'request_expired':
      return {
        text: `expired: nobody ${event.question === true ? 'answered in time' : 'decided in time'}`,
        tone: 'bad',
      };
    case 'call_started':
      return { text: startText(event) };
    case 'call_waits':
      return { text: `waits: ${event.message}`, tone: 'ask' };
    case 'call_held':
      return { text: `is held and does not start: ${event.message}`, tone: 'ask' };
    case 'call_resumed':
      return { text: 'goes on: no pause holds it any more' };
    case 'call_ended':
      return describeResult(event);
    default:
      return describeDoubt(event);
  }
}

function describeDoubt(
  event: TurnEventOf<'call_lost' | 'verifying' | 'verified' | 'in_doubt' | 'resolved' | 'outcome_reported'>,
): Described {
  switch (event.type) {
    case 'call_lost':
      return {
        text: `its outcome is unknown: ${event.message}${grantText('; it ran by ', event.grant)}`,
        tone: 'ask',
      };
    case 'verifying':
      return { text: 'the tool is asked whether it happened' };
    case 'verified':
      return { text: `${VERIFIED[event.outcome]}${after(': ', event.message)}` };
    case 'in_doubt':
      return { text: `in doubt, a person has to resolve it: ${event.message}`, tone: 'ask' };
    case 'resolved':
      return decisionLine(event.resolution ?? 'a resolution', event);
    case 'outcome_reported': {
      const late = event.settles ? 'reported after all' : 'reported too late to count';
      return { text: `${late}: ${outcomeText(event.result)}` };
    }
  }
}

function requestText({ summary, callId }: TurnEventOf<'request_opened'>) {
  return summary.startsWith(`${callId} `) ? summary.slice(callId.length + 1) : summary;
}

const SAID = { approval: 'a decision', resolution: 'a resolution', answer: 'an answer' } as const;

/**
 * The start of a call in words. Arguments that were approved as proposed are left out, because they were shown just
 * before.
 */
function startText(event: TurnEventOf<'call_started'>) {
  const { tool, generation, decision, grant, arguments: args } = event;
  const shown = decision?.decision === 'approved' ? {} : args;
  const how = `${generation > 0 ? ' once more' : ''}${grantText(' by ', grant)}`;
  return `runs${how}: ${callText({ tool, arguments: shown })}`;
}

function describeResult(event: TurnEventOf<'call_ended'>): Described {
  const { tool, result, durationMs, origin, note, grant } = event;
  const { dry } = result.metadata;
  const ended = callText({ tool, arguments: result.arguments });
  if (dry !== undefined) return { text: `${describeOutcome(dry)[0]}: ${ended}`, tone: 'ask' };
  const source = origin === 'record' ? 'given: ' : '';
  const took = durationMs === null ? '' : ` (${span(durationMs)})`;
  const text = `${source}${outcomeText(result, note)}${took}${grantText(', by ', grant)}`;
  return { text, tone: result.success ? 'good' : 'bad' };
}

/** The first line of a result. */
function outcomeText(result: ToolResult, note?: string) {
  const { success, content, error, metadata } = result;
  if (!success) return `${error?.code ?? 'unknown'}: ${truncate(error?.message ?? content)}`;
  const lines = outputOf(result, note).trimEnd().split('\n');
  const more = lines.length > 1 ? ` … ${counted(lines.length - 1, 'more line')}` : '';
  return `${metadata.late === true ? 'done, late' : 'done'}: ${truncate(lines[0] ?? '')}${more}`;
}

function describeDecision(event: TurnEventOf<'decision'>): Described {
  const line = decisionLine(event.decision ?? 'a decision', event, decisionDetails(event));
  return isDenial(event) ? { ...line, tone: 'bad' } : line;
}

function describeAnswer(event: TurnEventOf<'answered'>): Described {
  const { answer = 'an answer', content } = event;
  const said = content === undefined ? '' : ` ${truncate(JSON.stringify(content))}`;
  const line = decisionLine(answer, event, said);
  return answer === 'declined' ? { ...line, tone: 'bad' } : line;
}

/** The text that is added to the word of a decision: the hunks, and anything unusual about the decision. */
export function decisionDetails(event: TurnEventOf<'decision'>): string {
  const { hunks, suggestion, unbound, asksAgain, stillWaits } = event;
  return [
    hunksText(hunks),
    suggestion === undefined ? '' : `, and wants this instead: ${truncate(suggestion)}`,
    unbound === true ? ', not bound to what was seen' : '',
    asksAgain === true ? '; it needs a new look' : '',
    stillWaits === true ? '; it waits for more votes' : '',
  ].join('');
}

function decisionLine(what: string, event: Attribution & { judgement: Judgement }, details = ''): Described {
  const { judgement, reason, reapplied } = event;
  const again = reapplied === undefined ? '' : `, applied again by the reset (${truncate(reapplied.reason)})`;
  const by = `${what} by ${event.approver} (${howKnown(event)})${again}`;
  if (judgement.accepted === false)
    return { text: `${by} was refused, ${judgement.code}${after(': ', judgement.message)}`, tone: 'bad' };
  const unknown = judgement.accepted === 'unknown' ? '; its verdict is no longer on record' : '';
  const because = after(': ', reason === undefined ? '' : truncate(reason));
  return { text: `${by}${details}${unknown}${because}`, tone: judgement.accepted === true ? 'good' : 'bad' };
}

function inBrackets(reason: string | undefined) {
  return reason === undefined || reason === '' ? '' : ` (${truncate(reason)})`;
}

function after(before: string, text: string | undefined) {
  return text === undefined || text === '' ? '' : `${before}${text}`;
}

/** A call in one line: its tool and its arguments. */
export function callText(call: { tool: string; arguments: JsonObject }): string {
  const args = Object.entries(call.arguments).map(([name, value]) => {
    return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return truncate(`${call.tool} ${args.join(' ')}`.trim());
}

const MOST_CHARS = 160;

/** The beginning of a text, cut between characters. `show <turn>/<call>` shows the whole result. */
export function truncate(text: string): string {
  const chars = [...text.slice(0, 2 * MOST_CHARS + 2)];
  return chars.length <= MOST_CHARS ? text : `${chars.slice(0, MOST_CHARS).join('')}…`;
}
