import { stillNeeded } from '../../authority/votes/count-votes';
import { assuranceText, isAssured } from '../../authority/rules/stricter-rule';
import { assuranceWanted, votingOf } from '../../authority/votes/voters';
import { DECISION, QUESTION_ANSWER, RESOLUTION } from '../../contract/decision';
import { digestText } from '../../contract/digest';
import { callFragment } from '../../contract/names';
import { countMarks, deceivingIn } from '../../contract/text/unsafe-text';
import type { RequestOpened } from '../../history/events';
import { authorityOn, describeVoting, votesNeededOn } from '../../history/labels';
import type { SessionTurn } from '../../history/session/events';
import type { SessionView } from '../../history/session/view';
import { type CallView, type TurnView, waitingEvent } from '../../history/view-types';

/** A conversation, as far as its record is known here. */
export interface Thread {
  session: SessionView;
  /** The turns that are known in whole, with their child turns. */
  turns: ReadonlyMap<string, TurnView>;
  /** The text that a model writes now. */
  words?: { turn: string; step: number; text: string };
}

/** A call as a page shows it, by its id `<turn>/<call>`. */
export interface ThreadCall extends CallView {
  id: string;
  turn: string;
}

/** One reply of a model and its calls, by its id `<turn>/<step>`. A child turn's calls stand with the call that waits for them. */
export interface ShownStep {
  id: string;
  turn: string;
  text: string;
  /** The model still writes the text. */
  isPartial?: true;
  calls: ThreadCall[];
}

/** The steps of a turn, in order. Empty if the turn is not known in whole. */
export function stepsOf(thread: Thread, turn: string): ShownStep[] {
  const view = thread.turns.get(turn);
  if (view === undefined) return [];
  const texts = new Map(view.calls.map(({ step }) => [step, '']));
  for (const { step, text } of view.steps) texts.set(step, text);
  const steps = [...texts]
    .sort(([one], [other]) => one - other)
    .map(([step, text]): ShownStep => {
      const calls = view.calls.filter((call) => call.step === step);
      return {
        id: `${turn}/${step}`,
        turn,
        text,
        calls: calls.flatMap((call) => withChild(thread, turn, call)),
      };
    });
  const { words } = thread;
  // Words may come before the record of what the model answers to.
  const isAsked = view.thinking !== undefined && view.endedAt === null;
  if (words?.turn === turn && isAsked && !texts.has(words.step))
    steps.push({ id: `${turn}/${words.step}`, turn, text: words.text, isPartial: true, calls: [] });
  return steps;
}

/** A call, and the calls of its child turn that people were asked about. */
function withChild(thread: Thread, turn: string, call: CallView): ThreadCall[] {
  const { child = '' } = call;
  const below = (thread.turns.get(child)?.calls ?? []).flatMap((one) => withChild(thread, child, one));
  const asked = below.filter(({ request, question, doubt }) => request ?? question ?? doubt);
  return [{ ...call, turn, id: `${turn}/${call.callId}` }, ...asked];
}

/** The outcome of a call in words. */
export function outcomeText({ result }: CallView): string {
  const { error, content = '' } = result ?? {};
  return error ? `${error.code}: ${error.message}` : content;
}

/** The turn of a conversation that runs now. */
export function runningTurn({ session }: Thread): string {
  return session.turns.findLast(({ status }) => status === 'running')?.turn ?? '';
}

function isBusy({ phase, doubt }: CallView) {
  return phase === 'running' || phase === 'preparing' || (phase === 'in_doubt' && doubt === undefined);
}

/** Whether a turn merely waits: nothing of it goes on before a person has said something. */
export function isIdle(thread: Thread, turn: string): boolean {
  const view = thread.turns.get(turn);
  if (view === undefined || view.endedAt !== null || view.thinking) return false;
  // What is open is closed soon.
  if (view.cancelRequested && view.inDoubt.length === 0) return false;
  return view.calls.every((call) => !isBusy(call) || isIdle(thread, call.child ?? ''));
}

/** The end of a turn, as its conversation has it. */
type ThreadEnd = Pick<SessionTurn, 'status' | 'answer' | 'error'>;

/** How the last turn ended, if none runs or is about to start. Undefined: the conversation goes on. */
export function threadEnd(thread: Thread): ThreadEnd | undefined {
  const { turns, waiting, state } = thread.session;
  const isOpen = ['open', 'paused', 'closing'].includes(state);
  if (isOpen && (runningTurn(thread) !== '' || (waiting.length > 0 && state === 'open'))) return undefined;
  return turns.at(-1) ?? { status: 'not_started' };
}

/** The ends of a turn that are failures. */
export const FAILED_ENDS: readonly string[] = ['failed', 'terminated', 'timed_out'];

/** The person who looks. */
export interface PageReader {
  user: string;
  /** Whether the person's role lets them decide. */
  isApprover: boolean;
  /** The address of the web inbox. */
  inbox: string;
}

/** What a person is asked about a call. */
export interface Item {
  /** Names the call, what was shown, and who saw it. An answer with this id answers only that. */
  id: string;
  /** The id of the call. */
  call: string;
  kind: 'request_opened' | 'question_opened' | 'in_doubt';
  message: string;
  expiresAt?: string;
  /** The schema of what a person says. */
  schema: object;
  /** What is shown, with the votes, whether the person may decide, and where the web inbox has it. */
  about: object;
}

/** What people are asked now. */
export function askedItems(thread: Thread, who: PageReader): Item[] {
  const calls = stepsOf(thread, runningTurn(thread)).flatMap((step) => step.calls);
  return calls.flatMap((call) => itemOf(call, who) ?? []);
}

/** What people are asked about a call. Undefined if nobody is asked. */
export function itemOf(call: ThreadCall, { user, isApprover, inbox }: PageReader): Item | undefined {
  const open = waitingEvent(call);
  if (open === undefined) return undefined;
  const now = Date.now();
  const authority = authorityOn(call);
  const count = votesNeededOn(call, now);
  return {
    id: askedId(call, open, user),
    call: call.id,
    kind: open.type,
    message: open.summary,
    expiresAt: ('deadline' in open ? open.deadline : null) ?? undefined,
    schema: formFor(open),
    about: {
      // The rule names people, and the schema stands by itself.
      ...open,
      authority: undefined,
      schema: undefined,
      kind: open.type,
      generation: call.generation,
      link: inboxLink(inbox, call),
      mayDecide: isApprover && (authority === undefined || votingOf(authority, user, now).ok),
      needs: count && stillNeeded(count),
      voting: describeVoting(call, now),
      notHere: open.type === 'request_opened' ? whyNotHere(open) : undefined,
    },
  };
}

/**
 * Names what a person is asked of a call. It changes with what is shown, with who looks, and when the person is asked
 * anew: the request was opened again, or they took their vote back.
 */
export function askedId(
  { id, generation, runId, decisions }: ThreadCall,
  open: WaitingEvent,
  user: string,
): string {
  const withdrawn = decisions.findLast(
    ({ decision, approver, judgement }) =>
      decision === 'withdrawn' && approver === user && judgement.accepted === true,
  );
  const shown =
    open.type === 'request_opened' ? [open.seenDigest, runId, open.eventId, withdrawn?.eventId] : generation;
  return `${id}#${digestText(JSON.stringify([user, open.type, open.callKey, shown])).slice(0, 16)}`;
}

type WaitingEvent = NonNullable<ReturnType<typeof waitingEvent>>;

/** Where the web inbox shows a call. */
export function inboxLink(inbox: string, { turn, callId }: Pick<ThreadCall, 'turn' | 'callId'>): string {
  return `${inbox}/${callFragment(turn, callId)}`;
}

/** Why a request cannot be approved on a product's own page. Undefined if it can be. */
export function whyNotHere(request: RequestOpened): string | undefined {
  const wanted = assuranceWanted(request.authority, 'approved');
  if (wanted !== undefined && !isAssured('signed_in', wanted))
    return `its rule wants decisions ${assuranceText(wanted)}: approve it in the web inbox or at a terminal`;
  const isDeceiving = countMarks(deceivingIn(request)) > 0;
  return isDeceiving
    ? 'its text deceives the eye: approve it in the web inbox, which marks what does'
    : undefined;
}

function formFor(open: WaitingEvent): object {
  if (open.type === 'question_opened')
    return formOf({ answer: QUESTION_ANSWER.properties.answer, content: open.question.form }, ['answer']);
  if (open.type === 'in_doubt') {
    const { resolution, content, reason } = RESOLUTION.properties;
    return formOf({ resolution, content, reason }, ['resolution']);
  }
  // References of the tool's schema are from its root, which is one level up here.
  const { $defs, definitions, ...args } = open.schema ?? {};
  const { hunks, reason } = DECISION.properties;
  const decision = { enum: ['approved', 'modified', 'denied', 'withdrawn'] };
  const fields = { decision, seenDigest: { const: open.seenDigest }, arguments: args, hunks, reason };
  return { ...formOf(fields, ['decision', 'seenDigest']), $defs, definitions };
}

const formOf = (properties: object, required: string[]): object => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
});
