import type { Context } from 'hono';
import { type Accepted, isApproval } from '../../contract/decision';
import { digestText } from '../../contract/digest';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { describePhase } from '../../history/labels';
import { unlessGone } from '../../history/server-errors';
import { waitingEvent } from '../../history/view-types';
import { answerSchema, decisionSchema, noteAnswer, resolutionSchema, speakerOn } from '../decisions';
import type { AppDeps } from '../deps';
import { checkInput } from '../request-body';
import { type Env, senderOf } from '../session';
import { askedId, inboxLink, type ThreadCall, type Thread, whyNotHere } from './thread';

/** What a person said of something that they were asked. */
interface PersonAnswer {
  /** That of the item which was answered. */
  id: string;
  said: unknown;
}

/**
 * What became of an answer. `recorded`: it takes effect when a worker returns. `refused`: it changed nothing, and the
 * person may answer again. `not_open`: this person is not asked this any more.
 */
export interface AnswerOutcome {
  id: string;
  status: 'accepted' | 'recorded' | 'refused' | 'not_open';
  /** Only with `accepted`, with the votes that are still needed. */
  verdict?: Accepted;
  /** Only with `refused`. */
  code?: string;
  message?: string;
  /** Where the person can answer instead. */
  link?: string;
}

/** What came with a request, and where. */
interface From {
  answers: readonly PersonAnswer[];
  channel: string;
  /** The same for a request that is sent again. */
  runId: string;
  /** The turns of the conversation. */
  turns: readonly { turn: string }[];
  /** The address of the web inbox. */
  inbox: string;
}

/**
 * Sends the answers of a person, one after the other.
 *
 * @throws CountersignError `usage` if two answers are about the same call, and those of `Countersign.decide`.
 */
export async function sendAnswers(deps: AppDeps, c: Context<Env>, from: From): Promise<AnswerOutcome[]> {
  const { answers, turns } = from;
  if (new Set(answers.map(({ id }) => id)).size < answers.length)
    throw new CountersignError('usage', 'two answers are about the same call: send one');
  const outcomes: AnswerOutcome[] = [];
  for (const { id, said } of answers) {
    const { turn, callId } = partsOf(id);
    // A child turn has the id of its parent and more.
    const isOurs = turns.some((one) => `${turn}.`.startsWith(`${one.turn}.`));
    const view = isOurs ? await unlessGone(c.get('reader').view(turn)) : undefined;
    const found = view?.calls.find((one) => one.callId === callId);
    const call = found && { ...found, turn, id: `${turn}/${callId}` };
    const open = call && waitingEvent(call);
    if (call && open && id === askedId(call, open, senderOf(c).approver))
      outcomes.push(await sendOne(deps, c, { id, call, open, said, from }));
    else outcomes.push({ id, status: 'not_open', message: whyNotOpen(call, open !== undefined) });
  }
  return outcomes;
}

function whyNotOpen(call: ThreadCall | undefined, isOpen: boolean) {
  if (call === undefined) return 'there is no such call here';
  return isOpen
    ? 'it changed since it was shown, or was shown to somebody else; look again'
    : `it is ${describePhase(call)[0]}`;
}

function partsOf(id: string): { turn: string; callId: string } {
  const call = id.slice(0, Math.max(0, id.lastIndexOf('#')));
  const at = call.lastIndexOf('/');
  return { turn: call.slice(0, Math.max(0, at)), callId: call.slice(at + 1) };
}

interface OneAnswer extends PersonAnswer {
  call: ThreadCall;
  open: NonNullable<ReturnType<typeof waitingEvent>>;
  from: From;
}

/** Errors that are about one answer, which the person can give again or elsewhere. */
const HERE: readonly string[] = ['signature_needed', 'usage'];

async function sendOne(deps: AppDeps, c: Context<Env>, one: OneAnswer): Promise<AnswerOutcome> {
  const { id } = one;
  const link = inboxLink(one.from.inbox, one.call);
  try {
    const sent = await attempt(deps, c, one);
    await noteAnswer(deps, c, sent);
    const { answer } = sent;
    return answer.status === 'refused'
      ? { id, ...answer.verdict, status: answer.status, link }
      : { id, ...answer };
  } catch (error) {
    if (!(error instanceof CountersignError) || !HERE.includes(error.code)) throw error;
    return { id, status: 'refused', code: error.code, message: error.message, link };
  }
}

function attempt(deps: AppDeps, c: Context<Env>, { id, call, open, said, from }: OneAnswer) {
  const { turn, callId, generation, request } = call;
  const { channel, runId } = from;
  const given = { ...(isObject(said) ? said : {}), callId, callKey: open.callKey };
  // The same answer to the same question has the same id when its request is sent again.
  const decisionId = digestText(JSON.stringify([id, runId, given]));
  const content = { ...given, decisionId };
  const speaker = speakerOn(deps, c, { turn, channel });
  const requireHere = (shown: typeof request) => {
    const why = shown && whyNotHere(shown);
    if (why !== undefined) throw new CountersignError('signature_needed', why);
  };
  if (open.type === 'question_opened') return speaker.answer(checkInput(answerSchema, content));
  if (open.type === 'in_doubt') {
    const resolution = checkInput(resolutionSchema, { ...content, generation });
    if (resolution.resolution === 'run-again') requireHere(request);
    return speaker.resolve(resolution);
  }
  const body = checkInput(decisionSchema, content);
  if (isApproval(body)) requireHere(open);
  return speaker.decide(body);
}

/** Whether the record of a conversation has an answer that was taken. */
export function isRecorded({ turns }: Thread, { id, status, verdict }: AnswerOutcome): boolean {
  const { turn, callId } = partsOf(id);
  const call = turns.get(turn)?.calls.find((one) => one.callId === callId);
  if (status !== 'accepted' || call === undefined) return true;
  const said = [...call.decisions, ...call.answers, ...call.resolutions];
  return said.some(({ decisionId }) => decisionId === verdict?.decisionId);
}
