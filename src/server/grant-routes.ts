import { type Context, Hono } from 'hono';
import { z } from 'zod';
import {
  coverageOf,
  coverageText,
  planConfirmation,
  planGrant,
  requireAssured,
} from '../authority/grants/client-plan';
import type { GrantPlan } from '../authority/grants/client-types';
import { AT_ONCE, mapOrdered } from '../client/read-turns';
import type { Answer, InboxItem } from '../client/types';
import { voterIn } from '../authority/votes/voters';
import { termsDigest } from '../authority/grants/confirmations';
import { confirmerOf, votesOn } from '../authority/grants/grant-votes';
import { argumentTexts, conditionText, grantSentence, heldSentence } from '../authority/grants/grant-text';
import { isGrantTerms, isNarrowing } from '../authority/grants/grant-schemas';
import { covers } from '../authority/grants/covers';
import { type GrantAsked, type GrantSeen, type GrantTerms, noGrantText } from '../authority/grants/grant';
import { type Condition, exactly, type Narrowing, narrowingProblem } from '../authority/grants/narrowing';
import type { Json, JsonObject } from '../contract/json';
import { guarded } from '../system/guarded';
import { canonicalJson } from '../contract/digest';
import { CountersignError } from '../contract/errors';
import type { CallView, TurnView } from '../history/view-types';
import type { GrantedAnswer, GrantPreview, GrantRow, GrantWay } from './api';
import { respond, SIGNED_DECISION } from './decisions';
import type { AppDeps } from './deps';
import {
  callId,
  checkInput,
  controlReason,
  messageBody,
  MOST_MS,
  readBody,
  PASSKEY_FIELDS,
} from './request-body';
import { type Env, senderOf } from './session';
import type { Reader } from './visible-turns';
import {
  type GrantToSign,
  type SignableTurns,
  type SignedMessage,
  type Signers,
  signVote,
  type VoteToSign,
} from './signer';
import { findExactly } from './turns';
import type { GrantPasskeyAsk, PasskeyAsk, SignedByPasskey } from '../authority/signatures/passkey-ask';
import { assuranceText, isAssured } from '../authority/rules/stricter-rule';
import type { VoteSignature } from '../contract/decision';
import { defined } from '../contract/defined';
import type { Assurance } from '../contract/authority';
import { guard } from '../contract/schema/message';

/** `PASSKEY_FIELDS` as a zod schema, for a field of another body. */
const signedByPasskey = guarded(guard(PASSKEY_FIELDS), 'is not what a passkey signed');

const planSchema = z.strictObject({
  callId,
  seenDigest: z.string().max(100),
  forMs: z.number().int().min(1).max(MOST_MS).optional(),
  times: z.number().int().min(1).optional(),
  narrowing: guarded(isNarrowing, 'is not a narrowing').optional(),
});

const grantSchema = z.strictObject({
  decision: messageBody(SIGNED_DECISION, ['seenDigest', 'callKey']),
  terms: guarded(isGrantTerms, 'are not the terms of a grant'),
  grantPasskey: signedByPasskey.optional(),
});

const confirmationSchema = z.strictObject({
  seenDigest: z.string().max(100),
  grantPasskey: signedByPasskey.optional(),
});

const revocationSchema = z.strictObject({ reason: controlReason });

const grantParam = z.object({ grant: z.uuid() });

/** The time in which a grant may be given after its preview, in milliseconds. */
const SHOWN_MS = 10 * 60 * 1000;

/**
 * The routes for a grant that is given with an approval: one previews the grant, the other approves the call and gives
 * the grant.
 */
export function grantRoutes(deps: AppDeps): Hono<Env> {
  return new Hono<Env>()
    .post('/:turn/grant-plans', async (c) => {
      const { callId, seenDigest, ...asked } = await readBody(c, planSchema);
      const view = await c.get('reader').view(await findExactly(c));
      const call = shownCall(view, callId, seenDigest);
      const plan = planGrant(view, callId, { by: senderOf(c).approver, ...asked });
      await requireSignable(deps, toSign(deps, plan, senderOf(c).approver), plan);
      return c.json(await previewOf(c, plan, call));
    })
    .post('/:turn/grants', async (c) => {
      const { decision: body, terms, grantPasskey } = await readBody(c, grantSchema);
      const { passkey, ...decision } = body;
      const turn = await findExactly(c);
      const { callId, seenDigest, decisionId } = decision;
      // The grant has the same reason. A reason that only the decision may have would leave an approval without a grant.
      const reason = checkInput(controlReason, decision.reason);
      if (decision.decision !== 'approved' || decision.hunks)
        throw new CountersignError('usage', 'a grant goes with the approval of a call as it is');
      const sender = senderOf(c);
      const reader = c.get('reader');
      const view = await reader.view(turn);
      shownCall(view, callId, seenDigest);
      const plan = planned(view, callId, { terms, by: sender.approver });
      const said = { turn, callId, decisionId, seenDigest, reason, decision: 'approved' } as const;
      const signed = await signApprovalAndGrant(deps, {
        client: { view: async () => view, placeOf: (turn) => reader.placeOf(turn) },
        vote: { ...said, approver: sender.approver, passkey },
        grant: toSign(deps, plan, sender.approver),
        assurance: plan.assurance,
        grantPasskey,
      });
      const answer = await reader.decide(turn, { ...signed.vote, ...decision, ...sender });
      if (answer.status === 'refused') return respond(deps, c, { answer, turn, callId, what: 'decision' });
      const { authority } = plan;
      const asked = { ...terms, reason, authority, ...signed.grant };
      const given = await give(deps, c, { answer, asked });
      deps.feed.refresh(turn);
      deps.decided.note(sender.approver, turn);
      return c.json(given);
    });
}

/** The routes that list grants, confirm a grant, and revoke one. */
export function grantsRoutes(deps: Pick<AppDeps, 'grantSigner' | 'grantPasskeys' | 'feed'>): Hono<Env> {
  return new Hono<Env>()
    .get('/', async (c) => {
      const { grants } = await c.get('reader').grants.list();
      const { approver } = senderOf(c);
      return c.json(grants.map((one) => rowOf(one, approver)).reverse());
    })
    .get('/:grant/fits', async (c) => {
      const found = await grantOf(c);
      const { agent, tool } = found;
      const page = await deps.feed.page({ agent, tool, limit: MOST_FITS }, c.get('permit'));
      const fits: InboxItem[] = [];
      const looked = mapOrdered(page?.rows ?? [], AT_ONCE, (item) => isFit(c.get('reader'), found, item));
      for await (const [item, fit] of looked) if (fit) fits.push(item);
      return c.json(fits);
    })
    .post('/:grant/confirmation', async (c) => {
      const { seenDigest, grantPasskey } = await readBody(c, confirmationSchema);
      const { approver } = senderOf(c);
      const { grants, namespace } = c.get('reader');
      const grant = await grantOf(c);
      const { asked, assurance } = planConfirmation(grant, approver);
      if (asked.seenDigest !== seenDigest) throw refused('it is another grant than the one shown');
      // The passkey signed the time at which the page asked for its signature. Without a passkey, we use our own time.
      const says = { ...asked, at: (wantsPasskey(assurance) ? grantPasskey?.at : undefined) ?? asked.at };
      const confirmed = { terms: grant, namespace, user: approver, says };
      const signed = await signGrant(deps, confirmed, { assurance, grantPasskey });
      return c.json(await grants.confirm({ ...says, ...signed }));
    })
    .post('/:grant/revocation', async (c) => {
      const body = await readBody(c, revocationSchema);
      const { grant: id } = checkInput(grantParam, c.req.param());
      return c.json(await c.get('reader').grants.revoke({ id, by: senderOf(c).approver, ...body }));
    });
}

/** The grant that a request's path names. @throws CountersignError `not_found`. */
async function grantOf(c: Context<Env>): Promise<GrantSeen> {
  const { grant: id } = checkInput(grantParam, c.req.param());
  const found = (await c.get('reader').grants.list()).grants.find((one) => one.id === id);
  if (found) return found;
  throw new CountersignError('not_found', noGrantText(id));
}

/** The most requests that are compared with a grant. Each costs a read of its turn. */
const MOST_FITS = 50;

/** An item, and whether its request is one that the grant would have allowed. */
async function isFit(
  reader: Reader,
  { narrowing }: GrantSeen,
  item: InboxItem,
): Promise<[InboxItem, boolean]> {
  const view = await reader.view(item.turn).catch(() => undefined);
  const { phase, request } = view?.calls.find(({ callId }) => callId === item.callId) ?? {};
  const isAsProposed = phase === 'request' && request?.edit === undefined;
  const isFit = isAsProposed && request?.grants !== 'none' && covers(narrowing, request?.arguments ?? {});
  return [item, isFit];
}

/** A grant in the form in which the page lists it for one person. */
function rowOf(grant: GrantSeen, approver: string): GrantRow {
  const { authority, ...shown } = grant;
  const now = Date.now();
  const held = heldSentence(grant, now);
  const mayConfirm = held !== undefined && 'voter' in confirmerOf(grant, { name: approver, now });
  const voters = votesOn(grant).map(({ voter }) => voter);
  const isMissing = !voters.includes(voterIn(authority, approver));
  return {
    ...shown,
    sentence: grantSentence(grant),
    arguments: argumentTexts(grant).join(', '),
    held,
    toConfirm: mayConfirm && isMissing ? termsDigest(grant) : undefined,
  };
}

/**
 * @throws CountersignError `not_found`; `refused` if the call now has another request than the page showed.
 */
function shownCall(view: TurnView, callId: string, seenDigest: string): CallView {
  const call = view.calls.find((one) => one.callId === callId);
  if (call === undefined) throw new CountersignError('not_found', `${view.turn} has no call ${callId}`);
  if (call.request && call.request.seenDigest !== seenDigest)
    throw refused(`the request of ${callId} is another one by now`);
  return call;
}

/** Computes the grant that the page showed once more, because a page may send anything. */
function planned(
  view: TurnView,
  callId: string,
  { terms, by }: { terms: GrantTerms; by: string },
): GrantPlan {
  const { id, at, until, times, narrowing } = terms;
  const forMs = Date.parse(until) - Date.parse(at);
  const plan = planGrant(view, callId, { by, times, forMs, narrowing });
  const expected: GrantTerms = { ...plan.terms, id, at, until };
  if (canonicalJson({ ...expected }) !== canonicalJson({ ...terms }))
    throw refused('it is not the grant that was shown');
  const age = Date.now() - Date.parse(at);
  if (age < 0 || age > SHOWN_MS) throw refused('it was not shown within the last 10 minutes');
  return { ...plan, terms: expected };
}

function refused(message: string) {
  return new CountersignError('refused', message, 'Look at the request again.');
}

function toSign({ client }: Pick<AppDeps, 'client'>, { terms }: GrantPlan, user: string): GrantToSign {
  return { terms, namespace: client.namespace, user };
}

async function previewOf(
  c: Context<Env>,
  { terms, sentence, held }: GrantPlan,
  { request, arguments: args }: CallView,
): Promise<GrantPreview> {
  const reader = c.get('reader');
  const found = await coverageOf(reader, terms);
  const toWay = (condition: Narrowing[string]): GrantWay => ({ condition, text: conditionText(condition) });
  const all = request?.grants === 'equal' ? {} : wideningsOf(args);
  const ways = Object.entries(all).flatMap(([name, conditions]) =>
    conditions.length > 1 ? [{ name, ways: conditions.map(toWay) }] : [],
  );
  return { terms, sentence, coverage: coverageText(found), ways, held };
}

interface Giving {
  answer: Exclude<Answer, { status: 'refused' }>;
  asked: GrantAsked;
}

/** Gives the grant. The call is already approved, so an error of the grant becomes a part of the answer. */
async function give(
  { formatError }: Pick<AppDeps, 'formatError'>,
  c: Context<Env>,
  { answer, asked }: Giving,
): Promise<GrantedAnswer> {
  try {
    return { ...answer, grant: await c.get('reader').grants.give(asked) };
  } catch (error) {
    return { ...answer, grantProblem: formatError(error).body };
  }
}

/**
 * The conditions that an argument of a call may get in a grant that still covers the call. The narrowest condition,
 * which is the value itself, comes first. A condition that no grant can have is left out.
 */
export function wideningsOf(args: JsonObject): Record<string, Condition[]> {
  const exact = exactly(args);
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [
      name,
      [...(exact[name] === undefined ? [] : [exact[name]]), ...widerThan(value).filter(fitsAt(name, args))],
    ]),
  );
}

function fitsAt(name: string, args: JsonObject): (condition: Condition) => boolean {
  return (condition) => {
    const narrowing = { ...exactly(args), [name]: condition };
    return narrowingProblem(narrowing) === undefined && covers(narrowing, args);
  };
}

function widerThan(value: Json | undefined): Condition[] {
  if (typeof value === 'number') return value < 0 ? [] : [{ is: 'range', min: 0, max: value }];
  if (typeof value !== 'string') return [];
  const folder = /^.*[^/:]\//.exec(value.split(/[?#]/)[0] ?? '')?.[0];
  const below: Condition[] = folder === undefined ? [] : [{ is: 'prefix', prefix: folder }];
  return [...below, { is: 'glob', glob: '**' }];
}

type GrantSigners = Pick<Signers, 'grantSigner' | 'grantPasskeys'>;

/** The assurance that a grant needs, and what the person's passkey signed. */
interface Wanted {
  assurance: Assurance;
  /** Absent: the passkey was not asked. */
  grantPasskey?: SignedByPasskey;
}

/** The signature to send, if there is one. */
interface Signed {
  signature?: VoteSignature;
}

/**
 * The signature on a grant. It comes from the person's passkey if the rule wants their own key, otherwise from the web
 * inbox. Absent if nobody would check a signature.
 *
 * @throws CountersignError `signature_needed` if a passkey has to sign the grant first, or if the passkey's signature
 * does not count; `refused` if no signature that the person can give here is enough.
 */
async function signGrant(
  signers: GrantSigners,
  grant: GrantToSign,
  { assurance, grantPasskey }: Wanted,
): Promise<Signed> {
  const ask = await askFor(signers, grant, assurance);
  if (ask === undefined) return byInbox(signers, grant, assurance);
  if (grantPasskey === undefined) throw needsPasskey('grant', assurance, { grantPasskey: ask });
  return { signature: await signers.grantPasskeys?.take(grant, grantPasskey) };
}

/** Refuses a grant that the person cannot sign here. @throws CountersignError `refused`. */
async function requireSignable(
  signers: GrantSigners,
  grant: GrantToSign,
  { assurance }: Pick<Wanted, 'assurance'>,
) {
  if ((await askFor(signers, grant, assurance)) === undefined) await byInbox(signers, grant, assurance);
}

/**
 * The text that the person's passkey has to sign. Undefined: the web inbox's signature is enough, or the person has no
 * suitable passkey.
 */
async function askFor({ grantPasskeys }: GrantSigners, grant: GrantToSign, assurance: Assurance) {
  return wantsPasskey(assurance) ? grantPasskeys?.ask(grant) : undefined;
}

/** Whether a grant needs the person's own passkey: in a browser, nothing else gives this assurance. */
function wantsPasskey(assurance: Assurance) {
  return !isAssured('signed_in', assurance) && isAssured('signed', assurance);
}

async function byInbox(
  { grantSigner }: GrantSigners,
  grant: GrantToSign,
  assurance: Assurance,
): Promise<Signed> {
  const signature = await grantSigner?.(grant);
  requireAssured({ assurance }, signature ? 'signed_in' : 'claimed');
  return { signature };
}

interface ApprovalAndGrant extends Wanted {
  client: SignableTurns;
  vote: VoteToSign;
  grant: GrantToSign;
}

/**
 * The signatures on an approval and on its grant. Both are made before anything is sent, so that neither is sent
 * without the other.
 *
 * @throws CountersignError as `signVote` and `signGrant`. If both need a passkey, one error asks for both signatures.
 */
async function signApprovalAndGrant(
  signers: Signers,
  { client, vote, grant, ...wanted }: ApprovalAndGrant,
): Promise<{ vote: SignedMessage; grant: Signed }> {
  const [voted, granted] = await Promise.allSettled([
    signVote({ ...signers, client }, vote),
    signGrant(signers, grant, wanted),
  ]);
  if (voted.status === 'fulfilled' && granted.status === 'fulfilled')
    return { vote: voted.value, grant: granted.value };
  const failures: unknown[] = [voted, granted].flatMap((one) =>
    one.status === 'rejected' ? [one.reason] : [],
  );
  const asks = failures.map(asksIn);
  const other = asks.indexOf(undefined);
  if (other >= 0) throw failures[other];
  throw needsPasskey('approval and the grant', wanted.assurance, Object.assign({}, ...asks));
}

interface Asks {
  passkey?: PasskeyAsk;
  grantPasskey?: GrantPasskeyAsk;
}

/** The passkey signatures that an error asks for. Undefined: the error does not ask for any. */
function asksIn(error: unknown): CountersignError['data'] | undefined {
  if (!(error instanceof CountersignError) || error.code !== 'signature_needed') return undefined;
  const { passkey, grantPasskey } = error.data;
  return passkey === undefined && grantPasskey === undefined ? undefined : defined({ passkey, grantPasskey });
}

function needsPasskey(what: string, assurance: Assurance, asks: Asks) {
  return new CountersignError(
    'signature_needed',
    `the rule wants what it decides ${assuranceText(assurance)}: your passkey has to sign the ${what}`,
    { hint: 'Nothing was sent: nothing is decided, and nothing more is allowed.', data: { ...asks } },
  );
}
