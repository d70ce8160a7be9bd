import { type Context, Hono } from 'hono';
import type { z } from 'zod';
import type { Answer } from '../client/types';
import { DECISION, QUESTION_ANSWER, RESOLUTION, voteOf } from '../contract/decision';
import { withFields } from '../contract/schema/shape';
import type { AppDeps } from './deps';
import type { LoggedRefusal } from './refusal-log';
import { messageBody, PASSKEY_FIELDS, readBody } from './request-body';
import { type Env, senderOf } from './session';
import { signableBy } from './shown-calls';
import { type VoteToSign, signVote } from './signer';
import { findExactly } from './turns';

/** A decision, with what the approver's passkey signed. */
export const SIGNED_DECISION = withFields(DECISION, { passkey: PASSKEY_FIELDS });

/** The session says which person decides. A body that names a person is refused. */
export const decisionSchema = messageBody(SIGNED_DECISION, ['seenDigest', 'callKey']).refine(
  ({ decision }) => decision !== 'ask-again',
  'asking again has a route of its own',
);
const renewalSchema = messageBody(DECISION, ['seenDigest', 'callKey', 'reason']).refine(
  ({ decision }) => decision === 'ask-again',
  'this route asks again',
);
export const resolutionSchema = messageBody(withFields(RESOLUTION, { passkey: PASSKEY_FIELDS }), ['callKey']);
export const answerSchema = messageBody(QUESTION_ANSWER, ['callKey']);

/** A signed-in person, as the sender of what they say about calls. */
type Speaker = ReturnType<typeof speakerOn>;

/** The signed-in person, who says something about calls of a turn. `channel`: where they say it. */
export function speakerOn(
  deps: AppDeps,
  c: Context<Env>,
  { turn, ...by }: { turn: string; channel?: string },
) {
  const { signer, passkeys, shown } = deps;
  const reader = c.get('reader');
  const sender = { ...senderOf(c), ...by };
  const sign = (said: Omit<VoteToSign, 'approver' | 'turn'> & { callKey: string }) => {
    const client = signableBy(shown, reader, { turn, ...said });
    return signVote({ client, signer, passkeys }, { turn, ...said, approver: sender.approver });
  };
  return {
    decide: async ({ passkey, ...body }: z.infer<typeof decisionSchema>): Promise<SentAttempt> => {
      const decision = voteOf(body);
      const signed = decision === undefined ? {} : await sign({ ...body, decision, passkey });
      const answer = await reader.decide(turn, { ...signed, ...body, ...sender });
      return { answer, turn, callId: body.callId, what: 'decision' };
    },
    resolve: async ({ passkey, ...body }: z.infer<typeof resolutionSchema>): Promise<SentAttempt> => {
      const { callId, callKey, resolution, reason, decisionId } = body;
      const decision = 'run-again' as const;
      const vote = { callId, callKey, reason, decision, decisionId, passkey };
      const signed = resolution === decision ? await sign(vote) : {};
      const answer = await reader.resolve(turn, { ...signed, ...body, ...sender });
      return { answer, turn, callId, what: 'resolution' };
    },
    answer: async (body: z.infer<typeof answerSchema>): Promise<SentAttempt> => {
      const answer = await reader.answer(turn, { ...body, ...sender });
      return { answer, turn, callId: body.callId, what: 'answer' };
    },
  };
}

/** The routes for decisions, resolutions and answers. */
export function decisionRoutes(deps: AppDeps): Hono<Env> {
  const taking =
    <T>(schema: z.ZodType<T>, say: (speaker: Speaker, body: T) => Promise<SentAttempt>) =>
    async (c: Context<Env>) => {
      const body = await readBody(c, schema);
      return respond(deps, c, await say(speakerOn(deps, c, { turn: await findExactly(c) }), body));
    };
  return new Hono<Env>()
    .post(
      '/:turn/decisions',
      taking(decisionSchema, ({ decide }, body) => decide(body)),
    )
    .post(
      '/:turn/ask-again',
      taking(renewalSchema, ({ decide }, body) => decide(body)),
    )
    .post(
      '/:turn/resolutions',
      taking(resolutionSchema, ({ resolve }, body) => resolve(body)),
    )
    .post(
      '/:turn/answers',
      taking(answerSchema, ({ answer }, body) => answer(body)),
    );
}

/** A decision that was sent, and the turn's answer to it. */
interface SentAttempt extends Pick<LoggedRefusal, 'turn' | 'callId' | 'what'> {
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
