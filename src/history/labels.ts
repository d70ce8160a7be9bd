import { percentText } from './stats-text';
import { someNames } from '../authority/votes/voters';
import { approvalsNeeded, assuranceText } from '../authority/rules/stricter-rule';
import { countVotesUnder, type VoteCount } from '../authority/votes/count-votes';
import { type DryKind, TOOL_ERROR_CODES } from '../contract/result';
import type { CallProgress, Ancestor } from '../contract/call';
import type { GrantMark, GrantUse } from '../contract/policy-rule';
import type { Usage } from '../contract/spending/usage';
import type { Effect } from '../contract/tool';
import type { ChangedTool } from '../contract/worker-tools';
import { titleOf } from '../contract/text/call-title';
import { relative, span } from '../contract/text/times';
import type { PathOutcome } from './compare';
import type { Attribution, CallPhase } from './events';
import type { CallView, TurnView } from './view-types';
import type { CastVote, Authority } from '../contract/authority';
import { authorityNow } from '../authority/votes/authority-in-force';

/** How a line looks: quiet, at work, asks a person, went well, went wrong. */
export type Tone = 'quiet' | 'busy' | 'ask' | 'good' | 'bad';

/** A state in words. */
export type Label = readonly [text: string, tone: Tone];

const STATES: Readonly<Record<TurnView['status'], Label>> = {
  running: ['running', 'busy'],
  waiting: ['waits for a person', 'ask'],
  in_doubt: ['in doubt', 'ask'],
  answered: ['answered', 'good'],
  step_limit: ['step limit', 'bad'],
  budget: ['budget spent', 'bad'],
  loop: ['went round in circles', 'bad'],
  failed: ['failed', 'bad'],
  cancelled: ['cancelled', 'quiet'],
  terminated: ['terminated', 'bad'],
  timed_out: ['timed out', 'bad'],
};

/** The state of a turn, or its end. */
export function describeState(state: TurnView['status']): Label {
  return STATES[state];
}

const PHASES: Readonly<Record<CallPhase, Label>> = {
  preparing: ['being prepared', 'busy'],
  request: ['waits for a decision', 'ask'],
  question: ['waits for an answer', 'ask'],
  ready: ['about to start', 'busy'],
  running: ['running', 'busy'],
  in_doubt: ['in doubt', 'ask'],
  done: ['closed with its turn', 'quiet'],
};

/** A person said that a call in doubt did not happen, so it has an error of ours and none of its tool. */
const DID_NOT: Label = ['did not happen', 'bad'];

/** Where a call is, or how it ended. */
export function describePhase({
  phase,
  outcome,
  question,
  resolvedBy,
}: Pick<CallView, 'phase' | 'outcome'> & Partial<Pick<CallView, 'question' | 'resolvedBy'>>): Label {
  if (outcome === undefined) return PHASES[phase];
  if (resolvedBy?.resolution === 'did-not') return DID_NOT;
  if (question !== undefined && outcome === 'done') return ['answered', 'good'];
  return question !== undefined && outcome === 'denied' ? ['declined', 'bad'] : describeOutcome(outcome);
}

const DRY: Readonly<Record<DryKind, string>> = {
  would_run: 'would run',
  would_ask: 'would ask a person, then run',
};

/** Error codes that say why a call failed. The other two, `tool` and `unknown`, say only that it failed. */
const TELLING: readonly string[] = TOOL_ERROR_CODES.filter((code) => code !== 'tool' && code !== 'unknown');

/** The end of a call. A failure is named by its code. */
export function describeOutcome(outcome: PathOutcome): Label {
  if (outcome === 'done') return ['done', 'good'];
  if (outcome === 'open') return ['not over yet', 'busy'];
  if (outcome === 'would_run' || outcome === 'would_ask') return [DRY[outcome], 'ask'];
  // A code that is not known here may be any text.
  const isTelling = TELLING.includes(outcome);
  return [isTelling ? outcome.replaceAll('_', ' ') : 'failed', 'bad'];
}

/** What became of the tool of a waiting request, after the name of the tool. */
export function changedText(now: ChangedTool['now']): string {
  return now === 'gone' ? 'is not there any more' : 'changed since this request was made';
}

const EFFECTS: Readonly<Record<Effect, string>> = {
  pure: 'changes nothing',
  idempotent: 'a second run changes nothing more',
  unsafe: 'started at most once per decision',
};

/** The effect of running a call a second time, and the protection against it, for the person who decides. */
export function describeEffect(of: { effect: Effect; unowned?: true; byGate?: true }): string {
  const { effect, unowned, byGate } = of;
  if (effect === 'unsafe' && unowned === true)
    return 'a second run would do harm; the workflow that asks runs it, and may start it more than once';
  if (effect === 'unsafe' && byGate === true)
    return 'started at most once per decision, unless an operator resets its activity or workflow';
  return EFFECTS[effect];
}

/** An activity that is not closed yet. Times are ISO 8601. */
interface OpenActivity {
  state: 'scheduled' | 'started' | 'cancel_requested' | 'paused';
  attempt: number;
  startedAt?: string;
  nextAttemptAt?: string;
  worker?: string;
  lastFailure?: string;
  /** Why it is scheduled and does not run. */
  waits?: keyof typeof WAITS;
  /** The progress that its handler reported. */
  progress?: CallProgress;
  /** The end of the call's output so far. */
  partial?: string;
}

const ACTIVITY_STATES: Readonly<Record<OpenActivity['state'], string>> = {
  scheduled: 'waits for a worker',
  started: 'runs',
  cancel_requested: 'is being cancelled',
  paused: 'is paused by an operator',
};

const WAITS = {
  worker: ACTIVITY_STATES.scheduled,
  retry: 'failed and is tried again',
  pause: 'is held by a pause',
  other_worker: 'waits for another worker',
  nobody: 'waits, and no worker of its queue has what it needs',
} as const;

/** The state of an open activity: `runs for 3 s on w-1, attempt 2 (last failure: slow)`. */
export function describeActivity(activity: OpenActivity, now: number): string {
  const { state, attempt, startedAt, nextAttemptAt, worker, lastFailure, progress, partial, waits } =
    activity;
  const news = progress === undefined ? lastLine(partial) : describeProgress(progress);
  const isRunning = state === 'started';
  return [
    waits === undefined ? ACTIVITY_STATES[state] : WAITS[waits],
    startedAt === undefined ? '' : ` for ${span(Math.max(0, now - Date.parse(startedAt)))}`,
    isRunning && worker !== undefined ? ` on ${worker}` : '',
    attempt > 1 ? `, attempt ${attempt}` : '',
    !isRunning && nextAttemptAt !== undefined ? `, next try ${relative(nextAttemptAt, now)}` : '',
    lastFailure === undefined ? '' : ` (last failure: ${lastFailure})`,
    news === '' ? '' : `: ${news}`,
  ].join('');
}

/** The progress of a call: `40 %, page 4 of 10`. */
export function describeProgress({ fraction, text = '' }: CallProgress): string {
  return [fraction === undefined ? '' : percentText(fraction), text].filter((part) => part !== '').join(', ');
}

/** The calls that led to a child turn: `turn-a/1.2 of clerk → turn-a.1.2.k3/2.1 of researcher`. */
export function describeLineage(lineage: readonly Ancestor[]): string {
  return lineage.map(({ turn, callId, agent }) => `${turn}/${callId} of ${agent}`).join(' → ');
}

/** The facts that a turn was started with: `tenant=acme, user=u1`. */
export function describeFacts(metadata: Readonly<Record<string, string>>): string {
  return Object.entries(metadata)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');
}

const LINE_CHARS = 200;

function lastLine(output = '') {
  return (output.trimEnd().split('\n').at(-1) ?? '').slice(-LINE_CHARS);
}

/** Why a turn stands still: its workflow task fails and is tried again. */
export function failingTaskText({ attempt, reason }: { attempt: number; reason?: string }): string {
  return `its workflow task fails (attempt ${attempt}): ${reason ?? 'the reason is not known'}`;
}

/** A number with its noun: `1 call`, `2,000 calls`. */
export function counted(count: number, what: string): string {
  return `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;
}

/** Tokens and their price. Empty if nothing was counted. */
export function describeUsage(usage: Usage = {}): string {
  const tokens = describeTokens(usage);
  const parts = [
    tokens === '' ? '' : `${tokens} tokens`,
    usage.cost === undefined ? '' : `cost ${costText(usage)}`,
  ];
  return parts.filter((text) => text !== '').join(', ');
}

/** Tokens, for a line whose label names them: `1,200 in (800 cached), 50 out (20 thinking)`. */
export function describeTokens(usage: Usage): string {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens, reasoningTokens } = usage;
  const side = (tokens: number | undefined, what: string, part: number | undefined, of: string) => {
    if (tokens === undefined) return [];
    return [`${whole(tokens)} ${what}${part === undefined ? '' : ` (${whole(part)} ${of})`}`];
  };
  const sides = [
    ...side(inputTokens, 'in', cachedInputTokens, 'cached'),
    ...side(outputTokens, 'out', reasoningTokens, 'thinking'),
  ];
  return sides.length === 0 && totalTokens !== undefined ? whole(totalTokens) : sides.join(', ');
}

function whole(count: number) {
  return count.toLocaleString('en');
}

/** The cost of replies: `0.0042 EUR`. Small amounts keep two significant digits. Empty if the cost is not known. */
export function costText({ cost, currency = '' }: Pick<Usage, 'cost' | 'currency'>): string {
  if (cost === undefined) return '';
  const digits = cost === 0 || cost >= 1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(cost)));
  const most = Math.max(2, digits);
  const amount = cost.toLocaleString('en', { minimumFractionDigits: 2, maximumFractionDigits: most });
  return `${amount} ${currency}`.trimEnd();
}

/** What a call does or asks, in one line. The preview of other arguments does not count. */
export function callTitle(
  call: Pick<CallView, 'tool' | 'effective' | 'request'> & Partial<Pick<CallView, 'question'>>,
): string {
  const { tool, effective, request, question } = call;
  const isShown = JSON.stringify(request?.arguments) === JSON.stringify(effective);
  const preview = question === undefined ? request?.preview : { text: question.question.text };
  return titleOf({ tool, arguments: effective, preview: isShown || question ? preview : undefined });
}

/**
 * The authority that decides a call, with the people to whom the call was escalated. Undefined if no rule says who
 * decides.
 */
export function authorityOn({ request, isEscalated }: CallView): Authority | undefined {
  return authorityNow(request?.authority, isEscalated);
}

/**
 * Whether the votes on a call are enough, and which votes are still needed. Undefined if no rule says who decides.
 * `now`: milliseconds since 1970.
 */
export function votesNeededOn(call: CallView, now: number): VoteCount | undefined {
  const authority = authorityOn(call);
  return authority && countVotesUnder(authority, call.votes, now);
}

/**
 * The rule of a call, the votes, and the votes that are still needed, in words. Undefined if no rule says who
 * decides it. `mayAct`: whether today's approvers file lets a person decide and see the call.
 */
export function describeVoting(
  call: CallView,
  now: number,
  mayAct: (person: string) => boolean = () => true,
): string | undefined {
  const authority = call.request?.authority;
  const found = votesNeededOn(call, now);
  if (authority === undefined || found === undefined) return undefined;
  const count = { ...found, mayVote: found.mayVote.filter(mayAct) };
  const { name, assurance } = authority.rule;
  const wanted = counted(approvalsNeeded(authority.rule), 'approval');
  const sure = assurance === 'claimed' ? '' : `, ${assuranceText(assurance)}`;
  const votes = call.votes.map((vote) => `${vote.voter} ${vote.decision} (${howKnown(vote)})`);
  const verb = assurance === 'claimed' ? 'vote' : assurance === 'signed_in' ? 'vote, signed in' : 'sign';
  const missing = count.state === 'open' ? [missingText(count, verb)] : [];
  return [`rule '${name}': ${wanted}${sure}`, ...votes, ...missing].join('; ');
}

/**
 * How it is known that the named person said something. Anybody can claim a name. The worker says whether a signature
 * counts.
 */
export function howKnown({
  authenticated,
  signature,
  signedBy = signature?.kind,
}: Partial<Pick<Attribution, 'authenticated' | 'signature'> & Pick<CastVote, 'signedBy'>>): string {
  if (signedBy === 'ssh') return 'signed with an SSH key';
  if (signedBy === 'passkey') return 'signed with a passkey';
  return authenticated === true || signedBy === 'inbox' ? 'signed in' : 'as claimed';
}

function missingText({ missing, missingGroups, mayVote, isStuck }: VoteCount, verb: string) {
  const heard = missingGroups.length === 0 ? '' : ` (${missingGroups.join(', ')})`;
  const who = mayVote.length === 0 ? 'nobody may vote' : `${someNames(mayVote)} may ${verb}`;
  return `${missing} more needed${heard}; ${isStuck ? 'too few people may vote: nobody can approve it' : who}`;
}

/**
 * The grant by which a call runs, after some words: `, by use 2 of 3 of the grant 4f1c09aa of ann`. Empty: the call
 * runs without a grant.
 */
export function grantText(words: string, grant: (GrantMark & Partial<GrantUse>) | undefined): string {
  if (grant === undefined) return '';
  const { id, by, confirmedBy = [], times, use } = grant;
  const which = `the grant ${id.slice(0, 8)} of ${[by, ...confirmedBy].join(' and ')}`;
  return words + (use === undefined ? which : `use ${use} of ${times} of ${which}`);
}

const SAYS: Readonly<Record<string, string>> = {
  modified: 'approved with changes by',
  withdrawn: 'vote withdrawn by',
  'ask-again': 'sent back to be asked again by',
  granted: 'ran by a grant of',
  happened: 'it happened, says',
  'did-not': 'it did not happen, says',
  'run-again': 'started once more by',
};

/** What a person said of a call, in words, from the word of a decision, a resolution or an answer. */
export function wordsBy(word: string, person: string): string {
  return `${SAYS[word] ?? `${word} by`} ${person}`;
}

/** The verdict of a tool's check on a call in doubt. */
export const VERIFIED = {
  happened: 'the tool says that it happened',
  did_not: 'the tool says that it did not happen',
  cannot_tell: 'the tool cannot tell',
} as const;

/** The hunks that a decision accepts, as an addition to its word. Empty if the decision names none. */
export function hunksText(hunks: readonly string[] | undefined): string {
  if (hunks === undefined) return '';
  return hunks.length === 0 ? ', but none of its hunks' : `, hunks ${hunks.join(', ')}`;
}
