import { Context } from '@temporalio/activity';
import { ApplicationFailure, type DataConverter, WorkflowNotFoundError } from '@temporalio/common';
import { Client, WorkflowUpdateFailedError } from '@temporalio/client';
import { errorMessage } from '../../contract/errors';
import { JobLimiter } from '../../contract/job-limiter';
import type { JsonObject } from '../../contract/json';
import { SECOND } from '../../contract/limits';
import { grantWorkflowId, UPDATES } from '../../contract/names';
import { type ListedGrant, openGrants, readGrant } from './client-list';
import { sha256 } from '../../system/sha256';
import { judgedForm } from '../../tools/prepare';
import type { Tool } from '../../tools/types';
import { within } from '../../tools/wait-within';
import { sharing } from '../pauses/worker-hold';
import type { Assurance, Authority } from '../../contract/authority';
import { type UseAsked, type UseTaken, whyOther } from './claim-use';
import { type GrantShown, whyEnded, type GrantTerms } from './grant';
import { isUseTaken } from './grant-schemas';
import type { CallSettings, CallInput, AskAgain } from '../../contract/call';
import { isRunTool, BY_EQUALITY } from './by-equality';
import type { Approvers } from '../rules/approvers-file';
import { votesOn, type CastGrantVote } from './grant-votes';
import { countProvenVotes, type VoteProof, UNCHECKED } from '../votes/worker-count';
import { termsDigest } from './confirmations';
import { isExact } from './narrowing';
import { covers } from './covers';
import type { GrantMark, GrantUse } from '../../contract/policy-rule';

/**
 * The time that a worker waits until a grant has answered its claim, with the wait for the claims before it. Then the
 * call is given back, and tried again soon.
 */
const USE_ANSWER = 5 * SECOND;

/** An answer that no grant allows the call, or that it is not known, in words. */
type NoGrant = { refused: string } | { unknown: string };

/** Asks about grants for calls. The functions never reject. */
export interface GrantsReader {
  /** The grants that a call may name, as the server lists them. What allows a call is only known from its claim. */
  list(): Promise<readonly ListedGrant[]>;
  /** A grant as its workflow shows it. Refused: it is over, or was never there. */
  look(id: string): Promise<GrantShown | NoGrant>;
  /** Claims a use. All claims with the same key are one. */
  claim(id: string, key: string, asked: UseAsked): Promise<UseTaken | NoGrant>;
}

/** The sources that a reader of grants asks. */
interface ReaderParts {
  list(): Promise<readonly ListedGrant[]>;
  look?(id: string): Promise<GrantShown | undefined>;
  update?(id: string, key: string, asked: UseAsked): Promise<unknown>;
  /** Milliseconds of a clock that does not change when somebody sets the time of day. @default performance.now */
  now?(): number;
}

/** The most claims of a process that wait for an answer: the server takes ten updates of a workflow at a time. */
const CLAIMS_AT_ONCE = 10;

/** One reader for all calls of a process. What it read counts for a second, and calls that ask in this time share it. */
export function createGrantsReader({
  list,
  look = lookAtGrant,
  update = claimByUpdate,
  now = () => performance.now(),
}: ReaderParts): GrantsReader {
  const claims = new JobLimiter(CLAIMS_AT_ONCE);
  let known: readonly ListedGrant[] = [];
  // A list only says which grant to ask, so an old one is better than none.
  const lists = sharing(async () => (known = await list().catch(() => known)), now);
  const looks = sharing(look, now);
  return {
    list: () => lists(''),
    look: async (id) => {
      try {
        return (await looks(id)) ?? { refused: 'it is not there' };
      } catch (error) {
        return { unknown: `the grant cannot be read: ${errorMessage(error)}` };
      }
    },
    claim: async (id, key, asked) => {
      try {
        return await claimed(claims, () => update(id, key, asked));
      } catch (error) {
        return noGrantBy(error);
      }
    },
  };
}

/** Claims once the claims before are answered. The wait for them counts. */
async function claimed(claims: JobLimiter, claim: () => Promise<unknown>): Promise<UseTaken> {
  const until = performance.now() + USE_ANSWER;
  const answer = claims.run(async () => {
    if (performance.now() >= until) throw new Error('other claims were before it');
    return claim();
  });
  const { ended } = await within(answer, USE_ANSWER);
  if (!ended) throw new Error('no worker answered');
  const taken = await answer;
  if (isUseTaken(taken)) return taken;
  throw new Error('the answer cannot be read');
}

/** A refusal in the words of the grant, or why it is not known whether the use is claimed. */
function noGrantBy(error: unknown): NoGrant {
  const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
  if (cause instanceof ApplicationFailure) return { refused: cause.message };
  if (error instanceof WorkflowNotFoundError) return { refused: 'it is over' };
  return {
    unknown: `its use could not be claimed within ${USE_ANSWER / 1000} s: ${errorMessage(error)}`,
  };
}

/** Lists the grants with the client of the current activity. One that this process cannot read hides no other. */
export async function listOpenGrants(listing: DataConverter): Promise<readonly ListedGrant[]> {
  const { client } = Context.current();
  const { connection, options } = client;
  const lister = new Client({ connection, namespace: options.namespace, dataConverter: listing });
  return inTime(() => openGrants(lister));
}

function lookAtGrant(id: string): Promise<GrantShown | undefined> {
  const { client } = Context.current();
  return inTime(() => readGrant(client, id));
}

/** Asks with the client of the current activity, and waits no longer than a worker may take to answer. */
async function inTime<T>(ask: () => Promise<T>): Promise<T> {
  const { client } = Context.current();
  return client.withDeadline(Date.now() + USE_ANSWER, ask);
}

function claimByUpdate(id: string, key: string, asked: UseAsked) {
  const { client } = Context.current();
  const handle = client.workflow.getHandle(grantWorkflowId(id));
  const claim = { args: [asked] satisfies [UseAsked], updateId: key };
  return inTime(() => handle.executeUpdate<unknown, [UseAsked]>(UPDATES.use, claim));
}

/**
 * The grants that may be given for a tool. Undefined: any grant. Calls that ask people, and calls that start child
 * turns, are decided one by one.
 */
export function grantsOf(tool: Tool): CallSettings['grants'] {
  const { noGrant, asks, askMs, child, categories } = tool;
  if (noGrant || asks !== undefined || askMs !== undefined || child !== undefined) return 'none';
  return isRunTool(categories) ? 'equal' : undefined;
}

/** A call that a grant may allow, by the worker's own knowledge. */
export interface GrantedCall {
  agent: string;
  tool: Tool;
  args: JsonObject;
  /** What the tool's parser makes of the arguments. Absent: it is not known. */
  value?: unknown;
  /** The digest of the policy rule that fits the call now. */
  policyDigest: string | undefined;
  /** The people who would decide the call. Absent: anybody. */
  authority?: Authority;
  /** The approvers file that signatures are checked by. Absent: no signature counts. */
  file?: Approvers;
}

/** The fields of the call that have to equal the fields of the grant. */
function aboutCall({ agent, tool, policyDigest = '', authority }: GrantedCall) {
  const ruleDigest = authority?.ruleDigest ?? '';
  return { agent, tool: tool.name, toolDigest: tool.digest, ruleDigest, policyDigest };
}

/** A grant that takes the place of a decision. */
interface GoodGrant {
  /** The weakest assurance among the votes on the grant. */
  assurance: Assurance;
  /** The people who confirmed the grant and whose votes count. */
  confirmedBy: readonly string[];
}

/**
 * Judges whether a grant may replace a decision: as many of the people who would decide the call must have allowed the
 * grant, with the same assurance. Otherwise returns why it may not. Votes that do not count are left out, as for a
 * call.
 */
export async function judgeGrant(
  grant: GrantShown,
  call: GrantedCall,
  place: { namespace: string; now: number },
): Promise<GoodGrant | { why: string }> {
  const why = whyNot(grant, call, place.now);
  if (why !== undefined) return { why };
  const { file, authority } = call;
  const votes = votesOn(grant);
  const proofOf = await proofsOf(grant, file, place);
  if (authority === undefined) return alone(votes.map(proofOf));
  // A person who may decide only because nobody else decided may not give or confirm a grant.
  const { escalated: _, ...asMade } = authority;
  const counted = countProvenVotes(asMade, votes, { proofOf, now: place.now });
  const { count, assurance } = counted;
  if (count.state !== 'approved') return { why: counted.why };
  const voters = count.counted.map(({ voter }) => voter);
  return { assurance, confirmedBy: voters.filter((one) => one !== grant.by) };
}

/** Judges a grant if no rule says who decides: the vote of its giver is enough. */
function alone([given]: VoteProof[]): GoodGrant | { why: string } {
  if (given === undefined || 'why' in given) return given ?? { why: 'nobody gave it' };
  return { assurance: given.assurance, confirmedBy: [] };
}

/** Checks votes on a grant. The code that checks signatures is loaded only if a vote is signed. */
async function proofsOf(
  grant: GrantShown,
  file: Approvers | undefined,
  place: { namespace: string; now: number },
): Promise<(vote: CastGrantVote) => VoteProof> {
  const isSigned = votesOn(grant).some(({ signature }) => signature !== undefined);
  const statements = isSigned ? await import('../signatures/grant-statement.js') : undefined;
  const terms = termsDigest(grant);
  return (vote) => {
    const { signature, seenDigest = terms } = vote;
    if (seenDigest !== terms) return { why: 'it is for something else' };
    if (signature === undefined || statements === undefined) return { assurance: 'claimed' };
    if (file === undefined) return { why: UNCHECKED };
    const { assuranceOfGrant, grantFault } = statements;
    const judged = assuranceOfGrant(grant, vote, {
      ...place,
      installation: file.installation,
      approvers: file,
    });
    return judged.ok ? judged : { why: `its signature is refused: ${grantFault(judged)}` };
  };
}

function whyNot(grant: GrantShown, call: GrantedCall, now: number) {
  const { tool, args, value } = call;
  const allowed = grantsOf(tool);
  if (allowed === 'none') return 'calls of this tool are decided one by one';
  if (allowed === 'equal' && !isExact(grant.narrowing)) return BY_EQUALITY;
  const other = whyEnded(grant, now) ?? whyOther(grant, aboutCall(call));
  if (other !== undefined) return other;
  return covers(grant.narrowing, args, judgedForm(args, value)) ? undefined : 'it is for other arguments';
}

/** The grant that may let a call start, before its use is claimed. Undefined: a person decides. Never rejects. */
export async function findGrant(
  reader: GrantsReader | undefined,
  call: GrantedCall,
): Promise<GrantMark | undefined> {
  if (reader === undefined || grantsOf(call.tool) === 'none') return undefined;
  const place = { namespace: Context.current().info.namespace, now: Date.now() };
  for (const grant of await reader.list()) {
    if (grant.used >= grant.times) continue;
    const judged = await judgeGrant(grant, call, place);
    if ('assurance' in judged) return markOf(grant, judged);
  }
  return undefined;
}

function markOf({ id, by, until, times }: GrantTerms, { confirmedBy }: GoodGrant): GrantMark {
  return { id, by, until, times, confirmedBy: confirmedBy.length === 0 ? undefined : confirmedBy };
}

/**
 * Why a call may not start by the grant that it names, before its use is claimed. `lack`: nobody knows, so the call is
 * tried again. Undefined: it may.
 */
export async function voidGrant(
  reader: GrantsReader | undefined,
  input: CallInput,
  call: GrantedCall,
): Promise<AskAgain | { lack: string } | undefined> {
  if (reader === undefined || input.grant === undefined)
    return askInstead(input, 'this worker can claim none');
  // A decision to run it again names what ran before.
  if (input.generation > 0) return askInstead(input, 'it takes a decision to run a call again');
  const found = await lookAgain(reader, input.grant.id, call);
  return 'assurance' in found ? undefined : insteadOf(found, input, call);
}

function askInstead({ grant, secret }: CallInput, why: string, authority?: Authority): AskAgain {
  const whose = grant === undefined ? '' : ` of ${grant.by}`;
  return { askAgain: `the grant${whose} does not allow it: ${why}`, secret, authority };
}

function insteadOf(no: NoGrant, input: CallInput, { authority }: GrantedCall) {
  return 'refused' in no ? askInstead(input, no.refused, authority) : { lack: no.unknown };
}

/** A grant as it is now, with the judgement on it. It may have been revoked, and the input of the call proves nothing. */
async function lookAgain(
  reader: GrantsReader,
  id: string,
  call: GrantedCall,
): Promise<(GoodGrant & { grant: GrantShown }) | NoGrant> {
  const grant = await reader.look(id);
  if ('refused' in grant || 'unknown' in grant) return grant;
  const { namespace } = Context.current().info;
  const judged = await judgeGrant(grant, call, { namespace, now: Date.now() });
  return 'why' in judged ? { refused: judged.why } : { ...judged, grant };
}

/**
 * Claims a use of the grant that a call names, right before its handler, and looks at the whole grant once more. If the
 * grant does not allow the call, a person is asked instead.
 */
export async function claimGrant(
  reader: GrantsReader | undefined,
  input: CallInput,
  call: GrantedCall,
): Promise<GrantUse | AskAgain | { lack: string }> {
  const { grant: named } = input;
  if (named === undefined || reader === undefined) return askInstead(input, 'this worker can claim none');
  const { workflowExecution } = Context.current().info;
  // The key contains the run: if a reset made a new run, the call starts a second time, and that is a further use.
  const key = sha256(`${workflowExecution?.runId ?? ''}:${input.callKey}`).slice(0, 32);
  const taken = await reader.claim(named.id, key, aboutCall(call));
  if (!('use' in taken)) return insteadOf(taken, input, call);
  const found = await lookAgain(reader, named.id, call);
  if (!('assurance' in found)) return insteadOf(found, input, call);
  const { grant, assurance } = found;
  if (taken.use > grant.times)
    return askInstead(input, 'the answer to its claim is about another one', call.authority);
  return { ...markOf(grant, found), use: taken.use, assurance };
}
