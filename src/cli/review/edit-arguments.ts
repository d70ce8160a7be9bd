import { setTimeout as delay } from 'node:timers/promises';
import { describePhase } from '../../history/labels';
import type { Answer } from '../../client';
import { digestJson } from '../../contract/digest';
import { asksAgainAfterEdit } from '../../contract/decision';
import { CountersignError } from '../../contract/errors';
import { checkSchema, withDefaults } from '../../contract/schema/schema';
import type { RequestOpened } from '../../history/events';
import type { CallView } from '../../history/view';
import { proposalLines, sawOf } from '../print/request';
import { type KeyChoice, choose, confirm } from './confirm';
import type { Terminal } from './terminal';
import { confirmDeceptiveText } from './seen';
import { decide, givenUp, idOf, requestOf, type Subject } from './decision';
import { changeLines } from '../print/arguments';
import { indented } from '../print/table';
import { letPersonEdit } from './editor';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { isObject, type JsonObject } from '../../contract/json';
import { readJson } from '../../contract/read-json';
import type { Issue } from '../../contract/tool';
import { escapeText } from '../../contract/text/escape';

/** The person who looks at the new preview of changed arguments. */
interface Looking {
  /** Absent if nobody can be asked. */
  terminal: Terminal | undefined;
  /** Whether to approve the new preview without looking at it. */
  yes: boolean;
}

/**
 * Lets a call run with other arguments. If the call has a preview, the change comes back as a new revision of the
 * request. The revision is shown and asked about, and is approved by its own digest.
 *
 * @throws CountersignError `still_waiting` if nobody can look at the new revision, `refused` if the new
 * revision has no preview or is gone, `failed` if the person does not approve it. The call still waits in each case.
 */
export async function decideChanged(
  subject: Subject,
  args: JsonObject,
  { terminal, yes }: Looking,
): Promise<Answer> {
  const before = requestOf(subject);
  const answer = await decide(subject, { decision: 'modified', arguments: args });
  if (answer.status !== 'accepted' || answer.verdict.asksAgain !== true) return answer;
  const call = await nextRevision(subject, before);
  const next: Subject = { ...subject, call };
  const request = requestOf(next);
  if (request.note !== undefined) throw notTaken(idOf(subject), request.note);
  // Without any preview, a person sees only the arguments, and this person wrote them. At a terminal they look
  // once more, because another rule may apply.
  const isOnlyArguments = before.preview === undefined && request.preview === undefined;
  if (yes || (terminal === undefined && isOnlyArguments)) return approveUnseen(next, args);
  const { screen } = subject.context;
  const place = { turn: subject.turn, screen, now: Date.now() };
  screen.lines(['', 'with your changes:', ...proposalLines(request, place), '']);
  if (terminal === undefined) throw unseen(next);
  const sure =
    (await confirm(terminal, `Approve ${idOf(next)} ${request.tool} like this?`)) &&
    (await confirmDeceptiveText(request, terminal));
  if (!sure) throw givenUp('you did not approve the changed request, which waits now');
  return decide(next, { decision: 'approved' });
}

const LOOK_AGAIN_MS = 100;
/** The most time to wait for a new revision. A preview may take 30 s, and a worker first has to start it. */
const MOST_MS = 45_000;

/** Waits for the request that follows another request of the same call. */
export async function nextRevision(subject: Subject, before: RequestOpened): Promise<CallView> {
  const until = performance.now() + MOST_MS;
  const { client, turn } = subject;
  for (;;) {
    const call = (await client.view(turn)).calls.find(({ callId }) => callId === before.callId);
    if (call?.phase === 'request' && call.request?.eventId !== before.eventId) return call;
    if (call?.phase !== 'preparing' && call?.phase !== 'request') throw gone(subject, call);
    if (performance.now() >= until)
      throw new CountersignError(
        'still_waiting',
        `the changed request of ${idOf(subject)} is not there yet`,
        'It waits for a decision once a worker has made it; countersign inbox lists it then.',
      );
    await delay(LOOK_AGAIN_MS);
  }
}

/**
 * Approves without a look, but only the arguments that this person asked for: another person may have changed them
 * meanwhile.
 */
function approveUnseen(next: Subject, args: JsonObject): Promise<Answer> {
  const { arguments: now, schema } = requestOf(next);
  if (digestJson(now) !== digestJson(withDefaults(schema, args))) throw unseen(next);
  return decide(next, { decision: 'approved' });
}

function unseen(next: Subject): CountersignError {
  const saw = sawOf(requestOf(next));
  return new CountersignError(
    'still_waiting',
    `${idOf(next)} has changed arguments, which nobody approved yet`,
    {
      hint: `Look at it, then: countersign approve ${idOf(next)} --saw ${saw}`,
      data: { seenDigest: requestOf(next).seenDigest },
    },
  );
}

/** The error for a request that came back unchanged, with a note that says why. */
export function notTaken(id: string, note: string): CountersignError {
  return new CountersignError('refused', `${id}: ${note}`, 'The request waits as it was before.');
}

function gone(subject: Subject, call: CallView | undefined): CountersignError {
  const now = call === undefined ? 'gone' : describePhase(call)[0];
  return new CountersignError(
    'refused',
    `${idOf(subject)} does not wait any more: it is ${now}`,
    'countersign show says how it ended.',
  );
}

/**
 * Lets a person change the arguments in their editor, shows what changed, asks, and decides. Arguments that do not fit
 * the schema, or that the turn refuses, go back to the editor with the reasons, until they fit or the person gives up.
 *
 * @throws CountersignError `failed`. Interrupted.
 */
export async function decideByEditor(subject: Subject, looking: Looking): Promise<Answer> {
  const { terminal } = looking;
  const { arguments: before, schema } = requestOf(subject);
  const { screen } = subject.context;
  let draft: Draft = draftOf(before);
  for (;;) {
    terminal?.release();
    const edited = await editArguments(draft, subject);
    if (typeof edited === 'string') throw givenUp(WHY[edited]);
    const wanted = withDefaults(schema, edited.arguments);
    draft = { body: edited.body, issues: schema ? checkSchema(schema, wanted) : [] };
    if (draft.issues.length > 0) continue;
    screen.lines(['what changed:', ...indented(changeLines(before, wanted, screen.style))]);
    if (terminal && (await wantsMore(wanted, subject, terminal))) continue;
    const answer = await decideChanged(subject, wanted, looking);
    if (answer.status !== 'refused' || answer.verdict.code !== 'validation') return answer;
    const { issues = [], message } = answer.verdict;
    draft = { body: edited.body, issues: issues.length > 0 ? issues : [{ path: '', message }] };
  }
}

const WHY = { empty: 'the file is empty', unchanged: 'the arguments are as they were' } as const;

type Next = 'approve' | 'leave' | 'edit';

const OTHERWISE: readonly KeyChoice<Next>[] = [
  { means: 'leave', keys: ['n', 'no', 'q'], does: 'leave; nothing is decided' },
  { means: 'edit', keys: ['e'], does: 'edit once more' },
];

/** What to ask about the changed arguments, what a yes does, and whether the call is shown again after it. */
function yesAfterEdit(request: RequestOpened): { question: string; does: string; isShown: boolean } {
  if (!asksAgainAfterEdit(request))
    return {
      question: 'Approve with these changes',
      does: 'let it run with these arguments',
      isShown: false,
    };
  // Another rule may apply to the changed arguments.
  if (request.preview === undefined)
    return {
      question: 'See it again with these changes',
      does: 'change the request and show it again, which you approve or leave',
      isShown: true,
    };
  // The old preview does not show the changed arguments.
  return {
    question: 'See what it does with these changes',
    does: 'change the request and show its new preview, which you approve or leave',
    isShown: true,
  };
}

async function wantsMore(args: JsonObject, subject: Subject, terminal: Terminal): Promise<boolean> {
  const request = requestOf(subject);
  // Changed arguments that are asked about again are shown once more, with the new preview if there is one.
  const { question, does, isShown } = yesAfterEdit(request);
  const choices: KeyChoice<Next>[] = [{ means: 'approve', keys: ['y', 'yes'], does }, ...OTHERWISE];
  const wanted = await choose(terminal, question, choices, subject.context.screen);
  if (wanted === 'edit') return true;
  const sure =
    wanted === 'approve' &&
    (isShown || (await confirmDeceptiveText({ ...request, arguments: args }, terminal)));
  if (!sure) throw givenUp('you left the changes as they are');
  return false;
}

/** The new arguments, with their text for another round, or the reason why the person gave up. */
type EditOutcome = { arguments: JsonObject; body: string } | 'empty' | 'unchanged';

/**
 * Lets a person edit arguments until they are JSON or the person gives up. An empty file, an unchanged file and
 * unchanged arguments mean giving up.
 *
 * @throws CountersignError `failed`.
 */
async function editArguments(first: Draft, subject: Subject): Promise<EditOutcome> {
  const { arguments: before, tool } = requestOf(subject);
  let draft = first;
  for (;;) {
    const text = documentOf(draft, idOf(subject), tool);
    const left = await letPersonEdit({ text, name: 'arguments.jsonc', env: subject.context.env });
    if (left === text) return 'unchanged';
    const edited = readDocument(left);
    if (edited.outcome === 'empty') return 'empty';
    if (edited.outcome === 'arguments') {
      const same = digestJson(edited.arguments) === digestJson(before);
      return same ? 'unchanged' : { arguments: edited.arguments, body: edited.body };
    }
    draft = edited.draft;
  }
}

/** Arguments as text, and the mistakes in them at the last attempt. */
interface Draft {
  body: string;
  issues: readonly Issue[];
}

/** The content of the file after a person edited it. */
type Edited =
  | { outcome: 'arguments'; arguments: JsonObject; body: string }
  | { outcome: 'empty' }
  | { outcome: 'wrong'; draft: Draft };

/**
 * The first draft: the unchanged arguments. Nothing in it is invisible: invisible characters are written as escapes of
 * JSON.
 */
export function draftOf(args: JsonObject): Draft {
  return { body: `${escapeHidden(JSON.stringify(args, null, 2))}\n`, issues: [] };
}

/** The draft as a file: comments first, with the mistakes among them, then the JSON. */
export function documentOf({ body, issues }: Draft, id: string, tool: string): string {
  const comments = [
    `Arguments of ${escapeText(tool)}, ${escapeText(id)}. Lines that start with // are left out.`,
    'Save and close to go on. To give up, leave the file as it is, or empty: nothing is decided then.',
    ...(issues.length === 0
      ? []
      : [
          '',
          'This does not fit:',
          ...issues.map(({ path, message }) => `  ${escapeText(path) || '(all)'}: ${escapeText(message)}`),
        ]),
  ];
  return `${comments.map((line) => `// ${line}`.trimEnd()).join('\n')}\n${body}`;
}

/**
 * Reads the file after a person edited it. JSON has no line that starts with `//`, so no argument can look like a
 * comment.
 */
export function readDocument(text: string): Edited {
  const lines = text.split('\n').filter((line) => !/^\s*\/\//.test(line));
  const body = lines.join('\n');
  if (body.trim() === '') return { outcome: 'empty' };
  const wrong = (issues: readonly Issue[]): Edited => ({ outcome: 'wrong', draft: { body, issues } });
  const read = readJson(body);
  if (!read.ok) return wrong(read.issues);
  if (!isObject(read.value)) return wrong([{ path: '', message: 'arguments are one object: { … }' }]);
  return { outcome: 'arguments', arguments: read.value, body };
}
