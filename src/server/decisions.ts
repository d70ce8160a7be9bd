import { type Context, Hono } from 'hono';
import type { Answer } from '../client/types';
import { DECISION, QUESTION_ANSWER, RESOLUTION, voteOf } from '../contract/decision';
import type { MessageSchema } from '../contract/schema/message';
import type { AppDeps } from './deps';
import type { LoggedRefusal } from './refusal-log';
import { messageBody, PASSKEY_FIELDS, readBody } from './request-body';
import { type Env, senderOf } from './session';
import { signableBy } from './shown-calls';
import { type VoteToSign, signVote } from './signer';
import { findExactly } from './turns';

/** A decision, with what the approver's passkey signed. */
export const SIGNED_DECISION = {
  ...DECISION,
  properties: { ...DECISION.properties, passkey: PASSKEY_FIELDS },
} as const satisfies MessageSchema;

/** The session says which person decides. A body that names a person is refused. */
const decisionSchema = messageBody(SIGNED_DECISION, ['seenDigest', 'callKey']).refine(
  ({ decision }) => decision !== 'ask-again',
  'asking again has a route of its own',
);
const renewalSchema = messageBody(DECISION, ['seenDigest', 'callKey', 'reason']).refine(
  ({ decision }) => decision === 'ask-again',
  'this route asks again',
);
const resolutionSchema = messageBody(
  { ...RESOLUTION, properties: { ...RESOLUTION.properties, passkey: PASSKEY_FIELDS } },
  ['callKey'],
);
const answerSchema = messageBody(QUESTION_ANSWER, ['callKey']);

/** The routes for decisions, resolutions and answers. */
export function decisionRoutes(deps: AppDeps): Hono<Env> {
  const { signer, passkeys, shown } = deps;
  const sign = (c: Context<Env>, vote: Omit<VoteToSign, 'approver'> & { callKey?: string | undefined }) => {
    const client = signableBy(shown, c.get('reader'), vote);
    return signVote({ client, signer, passkeys }, { ...vote, approver: senderOf(c).approver });
  };
  return new Hono<Env>()
    .post('/:turn/decisions', async (c) => {
      const { passkey, ...body } = await readBody(c, decisionSchema);
      const turn = await findExactly(c);
      const decision = voteOf(body);
      const signed = decision === undefined ? {} : await sign(c, { turn, ...body, decision, passkey });
      const answer = await c.get('reader').decide(turn, { ...signed, ...body, ...senderOf(c) });
      return respond(deps, c, { answer, turn, callId: body.callId, what: 'decision' });
    })
    .post('/:turn/ask-again', async (c) => {
      const body = await readBody(c, renewalSchema);
      const turn = await findExactly(c);
      const answer = await c.get('reader').decide(turn, { ...body, ...senderOf(c) });
      return respond(deps, c, { answer, turn, callId: body.callId, what: 'decision' });
    })
    .post('/:turn/resolutions', async (c) => {
      const { passkey, ...body } = await readBody(c, resolutionSchema);
      const turn = await findExactly(c);
      const { callId, resolution, reason, decisionId } = body;
      const decision = 'run-again' as const;
      const vote = { turn, callId, reason, decision, decisionId, passkey };
      const signed = resolution === decision ? await sign(c, vote) : {};
      const answer = await c.get('reader').resolve(turn, { ...signed, ...body, ...senderOf(c) });
      return respond(deps, c, { answer, turn, callId: body.callId, what: 'resolution' });
    })
    .route('/', answerRoutes(deps));
}

function answerRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>().post('/:turn/answers', async (c) => {
    const body = await readBody(c, answerSchema);
    const turn = await findExactly(c);
    const answer = await c.get('reader').answer(turn, { ...body, ...senderOf(c) });
    return respond(deps, c, { answer, turn, callId: body.callId, what: 'answer' });
  });
}

/** A decision that was sent, and the turn's answer to it. */
export interface SentAttempt extends Pick<LoggedRefusal, 'turn' | 'callId' | 'what'> {
  answer: Answer;
}

/** Answers with the answer to a decision. */
export async function respond(deps: AppDeps, c: Context<Env>, sent: SentAttempt): Promise<Response> {
  await noteAnswer(deps, c, sent);
  return c.json(sent.answer, sent.answer.status === 'refused' ? 409 : 200);
}

/** Notes the answer to a decision. A refused decision leaves no event in history, so we record it here. */
export async function noteAnswer(
  { client: { namespace }, feed, refusals, decided }: AppDeps,
  c: Context<Env>,
  { answer, ...attempt }: SentAttempt,
): Promise<void> {
  feed.refresh(attempt.turn);
  const user = senderOf(c).approver;
  if (answer.status !== 'refused') return decided.note(user, attempt.turn);
  const at = new Date().toISOString();
  const { code, standing } = answer.verdict;
  // If the turn cannot be read, only people who see all agents are shown this refusal.
  const about = await c
    .get('reader')
    .agentsOf(attempt.turn)
    .catch(() => ({}));
  await refusals.add({ at, namespace, user, ...attempt, ...about, code, standing });
}
