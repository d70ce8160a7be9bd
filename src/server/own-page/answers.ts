import type { Context } from 'hono';
import {
  type Accepted,
  DECISION,
  isApproval,
  QUESTION_ANSWER,
  RESOLUTION,
  voteOf,
} from '../../contract/decision';
import { digestText } from '../../contract/digest';
import { CountersignError } from '../../contract/errors';
import { isObject } from '../../contract/json';
import { describePhase } from '../../history/labels';
import { waitingEvent } from '../../history/view-types';
import { noteAnswer, type SentAttempt } from '../decisions';
import type { AppDeps } from '../deps';
import { checkInput, messageBody } from '../request-body';
import { type Env, senderOf } from '../session';
import { type SignedMessage, signVote, type VoteToSign } from '../signer';
import { inboxLink, type ThreadCall, type Thread, whyNotHere } from './thread';

/** Words of a person that the conversation may not have yet. */
export interface NewWords {
  messageId: string;
  text: string;
}

/** What a person said of something that they were asked. */
export interface PersonAnswer {
  /** `<turn>/<call>`. */
  id: string;
  said: unknown;
}

/**
 * What became of an answer. `recorded`: it takes effect when a worker returns. `refused`: it changed nothing, and the
 * person may answer again. `not_open`: nobody is asked this any more.
 */
export interface AnswerOutcome extends Said {
  id: string;
}

interface Said {
  status: 'accepted' | 'recorded' | 'refused' | 'not_open';
  /** Only with `accepted`, with the votes that are still needed. */
  verdict?: Accepted;
  /** Only with `refused`. */
  code?: string;
  message?: string;
  /** Where the person can answer instead. */
  link?: string;
}

const decisionSchema = messageBody(DECISION, ['seenDigest']).refine(
  ({ decision }) => decision !== 'ask-again',
  'only the web inbox asks again',
);
const answerSchema = messageBody(QUESTION_ANSWER, []);
const resolutionSchema = messageBody(RESOLUTION, []);

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
    const view = isOurs ? await c.get('reader').view(turn).catch(unlessMissing) : undefined;
    const call = view?.calls.find((one) => one.callId === callId);
    const open = call && waitingEvent(call);
    const message = call === undefined ? 'there is no such call here' : `it is ${describePhase(call)[0]}`;
    const end = open && (await sendOne(deps, c, { open, call: { ...call, turn, id }, said, from }));
    outcomes.push({ id, ...(end ?? { status: 'not_open', message }) });
  }
  return outcomes;
}

function partsOf(id: string): { turn: string; callId: string } {
  const at = id.lastIndexOf('/');
  return { turn: id.slice(0, Math.max(0, at)), callId: id.slice(at + 1) };
}

function unlessMissing(error: unknown): undefined {
  if (!(error instanceof CountersignError && error.code === 'not_found')) throw error;
}

interface OneAnswer {
  open: NonNullable<ReturnType<typeof waitingEvent>>;
  call: ThreadCall;
  said: unknown;
  from: From;
}

/** Errors that are about one answer, which the person can give again or elsewhere. */
const HERE: readonly string[] = ['signature_needed', 'usage'];

async function sendOne(deps: AppDeps, c: Context<Env>, one: OneAnswer): Promise<Said> {
  const { from, call } = one;
  const link = inboxLink(from.inbox, call);
  try {
    const { answer, what } = await answerOf(deps, c, one);
    await noteAnswer(deps, c, { answer, turn: call.turn, callId: call.callId, what });
    if (answer.status !== 'refused') return { ...answer };
    return { ...answer.verdict, status: answer.status, link };
  } catch (error) {
    if (!(error instanceof CountersignError) || !HERE.includes(error.code)) throw error;
    return { status: 'refused', code: error.code, message: error.message, link };
  }
}

type Given = Pick<SentAttempt, 'answer' | 'what'>;

async function answerOf(
  deps: AppDeps,
  c: Context<Env>,
  { open, call, said, from }: OneAnswer,
): Promise<Given> {
  const { turn, callId } = call;
  const { callKey } = open;
  const content = { ...(isObject(said) ? said : {}), callId };
  const decisionId = digestText(JSON.stringify([from.runId, turn, content]));
  const head = { callId, decisionId, callKey, ...senderOf(c), channel: from.channel };
  const client = c.get('reader');
  const sign = (
    vote: Pick<VoteToSign, 'decision' | 'reason' | 'hunks' | 'seenDigest'>,
  ): Promise<SignedMessage> => signVote({ client, signer: deps.signer }, { ...vote, ...head, turn });
  if (open.type === 'question_opened') {
    const body = checkInput(answerSchema, content);
    return { what: 'answer', answer: await client.answer(turn, { ...body, ...head }) };
  }
  if (open.type === 'in_doubt') {
    const body = { generation: call.generation, ...checkInput(resolutionSchema, content) };
    const { resolution: decision, reason } = body;
    const signed = decision === 'run-again' ? await sign({ decision, reason }) : {};
    return { what: 'resolution', answer: await client.resolve(turn, { ...body, ...head, ...signed }) };
  }
  const body = checkInput(decisionSchema, content);
  const why = isApproval(body) ? whyNotHere(open) : undefined;
  if (why !== undefined) throw new CountersignError('signature_needed', why);
  const decision = voteOf(body);
  const signed = decision === undefined ? {} : await sign({ ...body, decision });
  return { what: 'decision', answer: await client.decide(turn, { ...body, ...head, ...signed }) };
}

/** Whether the record of a conversation has an answer that was taken. */
export function isRecorded({ turns }: Thread, { id, status, verdict }: AnswerOutcome): boolean {
  const { turn, callId } = partsOf(id);
  const call = turns.get(turn)?.calls.find((one) => one.callId === callId);
  if (status !== 'accepted' || call === undefined) return true;
  const said = [...call.decisions, ...call.answers, ...call.resolutions];
  return said.some(({ decisionId }) => decisionId === verdict?.decisionId);
}
