import { Context } from '@temporalio/activity';
import { ApplicationFailure, WorkflowNotFoundError } from '@temporalio/common';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import type { Approvers } from '../../authority/approvers';
import type { Authority } from '../../contract/authority/authority';
import type { Assurance } from '../../contract/authority/rule';
import { countProvenVotes, UNCHECKED, type VoteProof } from '../../contract/authority/votes-needed';
import type { AskAgain, CallInput, CallSettings, GrantMark, GrantUse } from '../../contract/call';
import { BY_EQUALITY, isRunTool } from '../../contract/control/by-equality';
import { termsDigest } from '../../contract/control/confirmations';
import { isGrantsSeen, isUseTaken } from '../../contract/control/grant-forms';
import { type CastGrantVote, votesOn } from '../../contract/control/grant-votes';
import {
  type GrantSeen,
  type GrantsMemo,
  type GrantTerms,
  type UseAsked,
  type UseTaken,
  whyEnded,
  whyOther,
  whyVoid,
} from '../../contract/control/grants';
import { covers } from '../../contract/control/covers';
import { isExact } from '../../contract/control/narrowing';
import { defined } from '../../contract/defined';
import { errorMessage } from '../../contract/errors';
import type { JsonObject } from '../../contract/json';
import { TIMES } from '../../contract/limits';
import { CONTROL, QUERIES, UPDATES } from '../../contract/names';
import { contentDigest } from '../../tools/content-digest';
import { judgedForm } from '../../tools/prepare';
import type { Tool } from '../../tools/types';
import { within } from '../../tools/within';

/** Asks about grants for calls. The functions never reject. */
export interface GrantsReader {
  /** The grants. The list is empty if they cannot be read, so that a person is asked. */
  list(): Promise<readonly GrantSeen[]>;
  /** Why a grant is void, by the memo of the workflow that holds the grants. Undefined: the grant is not void. */
  whyVoid(id: string, grant?: Pick<GrantTerms, 'at'>): Promise<string | undefined>;
  claim(asked: UseAsked): Promise<UseTaken | { why: string }>;
}

/** The sources that a reader of grants asks. */
interface ReaderParts {
  memo(): Promise<GrantsMemo | { why: string }>;
  query?(): Promise<unknown>;
  update?(asked: UseAsked): Promise<unknown>;
  /** Milliseconds of a clock that does not change when somebody sets the time of day. @default performance.now */
  now?(): number;
}

/**
 * One reader for all calls of a process. A list counts for a second, and is asked for only if the memo says that there
 * are grants.
 */
export function createGrantsReader({
  memo,
  query = queryGrants,
  update = claimByUpdate,
  now = () => performance.now(),
}: ReaderParts): GrantsReader {
  let last: { at: number; list: Promise<readonly GrantSeen[]> } | undefined;
  const read = async (): Promise<readonly GrantSeen[]> => {
    try {
      const found = await query();
      return isGrantsSeen(found) ? found.grants : [];
    } catch {
      return [];
    }
  };
  return {
    list: async () => {
      const known = await memo();
      if ('why' in known || known.open === 0) return [];
      if (last === undefined || now() - last.at >= TIMES.pausesKnown) last = { at: now(), list: read() };
      const list = await last.list;
      return list.filter((grant) => whyVoid(known, grant.id, grant) === undefined);
    },
    whyVoid: async (id, grant) => {
      const known = await memo();
      return 'why' in known ? known.why : whyVoid(known, id, grant);
    },
    claim: async (asked) => {
      try {
        const taken = await update(asked);
        return isUseTaken(taken) ? taken : { why: 'the answer to its claim cannot be read' };
      } catch (error) {
        return { why: reasonOf(error) };
      }
    },
  };
}

/** A refusal in the words of the workflow that holds the grants, or any other error in our words. */
function reasonOf(error: unknown): string {
  const { cause } = error instanceof WorkflowUpdateFailedError ? error : {};
  if (cause instanceof ApplicationFailure) return cause.message;
  if (error instanceof WorkflowNotFoundError) return `${CONTROL.workflowId} does not run`;
  return `its use could not be claimed within ${TIMES.useAnswer / 1000} s: ${errorMessage(error)}`;
}

function queryGrants(): Promise<unknown> {
  const { client } = Context.current();
  return inTime(() => client.workflow.getHandle(CONTROL.workflowId).query(QUERIES.grants));
}

/** Asks with the client of the current activity, and waits no longer than a worker may take to answer. */
async function inTime<T>(ask: () => Promise<T>): Promise<T> {
  const { client } = Context.current();
  const asked = client.withDeadline(Date.now() + TIMES.useAnswer, ask);
  const { ended } = await within(asked, TIMES.useAnswer);
  if (!ended) throw new Error('no worker answered');
  return asked;
}

function claimByUpdate(asked: UseAsked): Promise<unknown> {
  const { client } = Context.current();
  return inTime(() =>
    client.workflow.getHandle(CONTROL.workflowId).executeUpdate<unknown, [UseAsked]>(UPDATES.use, {
      args: [asked],
    }),
  );
}

/**
 * The grants that may be given for a tool. Undefined: any grant. Calls that ask people, and calls that start child
 * turns, are decided one by one.
 */
export function grantsOf(
  tool: Pick<Tool, 'noGrant' | 'asks' | 'askMs' | 'child' | 'categories'>,
): CallSettings['grants'] {
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
  authority?: Authority | undefined;
  /** The approvers file that signatures are checked by. Absent: no signature counts. */
  file?: Approvers | undefined;
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
  grant: UseTaken['grant'],
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
  grant: UseTaken['grant'],
  file: Approvers | undefined,
  place: { namespace: string; now: number },
): Promise<(vote: CastGrantVote) => VoteProof> {
  const isSigned = votesOn(grant).some(({ signature }) => signature !== undefined);
  const statements = isSigned ? await import('../../authority/grant-statement.js') : undefined;
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

function whyNot(grant: UseTaken['grant'], call: GrantedCall, now: number): string | undefined {
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
  return { id, by, until, times, ...(confirmedBy.length === 0 ? {} : { confirmedBy }) };
}

/** The output that asks a person instead, if the grant of a call is void. Undefined: the grant is not void. */
export async function voidGrant(
  reader: GrantsReader | undefined,
  input: CallInput,
): Promise<AskAgain | undefined> {
  if (reader === undefined) return askInstead(input, 'this worker can claim none');
  // A decision to run it again names what ran before.
  if (input.generation > 0) return askInstead(input, 'it takes a decision to run a call again');
  const why = await reader.whyVoid(input.grant?.id ?? '');
  return why === undefined ? undefined : askInstead(input, why);
}

function askInstead({ grant, secret }: CallInput, why: string, authority?: Authority): AskAgain {
  const whose = grant === undefined ? '' : ` of ${grant.by}`;
  return { askAgain: `the grant${whose} does not allow it: ${why}`, ...defined({ secret, authority }) };
}

/**
 * Claims a use of the grant that a call names, right before its handler, and checks the whole grant once more, because
 * the input of the call proves nothing. If a check fails, a person is asked instead.
 */
export async function claimGrant(
  reader: GrantsReader | undefined,
  input: CallInput,
  call: GrantedCall,
): Promise<GrantUse | AskAgain> {
  const { grant: named } = input;
  const no = (why: string): AskAgain => askInstead(input, why, call.authority);
  if (named === undefined || reader === undefined) return no('this worker can claim none');
  const { namespace, workflowExecution } = Context.current().info;
  // The key contains the run: if a reset made a new run, the call starts a second time, and that is a further use.
  const key = contentDigest(`${workflowExecution?.runId ?? ''}:${input.callKey}`).slice(0, 32);
  const taken = await reader.claim({ id: named.id, key, ...aboutCall(call) });
  if ('why' in taken) return no(taken.why);
  const { grant, use, again } = taken;
  if (grant.id !== named.id || use > grant.times) return no('the answer to its claim is about another one');
  const judged = await judgeGrant(grant, call, { namespace, now: Date.now() });
  if ('why' in judged) return no(judged.why);
  if (again === true && call.tool.effect === 'unsafe')
    return no('an earlier start of this call claimed its use');
  const after = await reader.whyVoid(grant.id, grant);
  return after === undefined ? { ...markOf(grant, judged), use, assurance: judged.assurance } : no(after);
}
