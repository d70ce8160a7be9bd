import type { ApproversSource } from '../authority/rules/current-file';
import type { Roster } from '../contract/roster';
import type { CallInput, CallOutput } from '../contract/call';
import { isJsonObject, type JsonObject } from '../contract/json';
import { makeSuccess } from '../contract/result';
import { raisedKind, raisedText, raiseSchema } from '../contract/spending/budget';
import { RAISE, raiseCall } from '../contract/spending/raise';
import type { PrepareInput, PrepareOutput } from '../contract/think';
import { refusalBy } from '../authority/rules/worker-verdict';
import type { ActivityDeps } from './deps';
import { spentBefore } from './earlier-start';
import { cachedOutput, notRunResult } from './execute';
import { handBack, notHere } from './leave-to-another';
import { invalidCall } from './prepare-call';
import { placeHere, requestTimes, voidDecision } from './reset-history';
import { whatIsOther } from './start-checks/as-approved';
import { renewalRefusal } from './ask-again';
import { requestersOf } from '../authority/votes/requesters';
import { checkVotes, votesUnchecked } from '../authority/votes/worker-check';

/**
 * Asks the rules who decides on a turn's request for more budget. For the rules, the request is a dangerous call of
 * that name.
 */
export async function prepareRaise(deps: ActivityDeps, input: PrepareInput): Promise<PrepareOutput> {
  const unfit = await renewalRefusal(deps.approvers, input);
  return unfit === undefined ? ruled(deps, input) : { call: unfit };
}

async function ruled({ approvers }: ActivityDeps, input: PrepareInput): Promise<PrepareOutput> {
  const { agent, callId, tool, raw, policyReason } = input;
  const args: unknown = JSON.parse(raw);
  const kind = isJsonObject(args) ? raisedKind(args) : undefined;
  if (!isJsonObject(args) || kind === undefined) throw new Error(`${tool} says nothing of a budget`);
  const ruling = await rulingOn(approvers, { agent, tool, args });
  if (ruling?.refused !== undefined)
    return { call: invalidCall(input, { code: 'refused', message: ruling.refused }, {}) };
  const authority = ruling?.file.authorityBy(ruling, requestersOf(input.origin));
  const call = raiseCall({ callId, tool, arguments: args, policyReason, authority });
  return { call, schema: raiseSchema(kind) };
}

/** What the approvers file says about such a request. Undefined: this worker has no approvers file. */
async function rulingOn(
  approvers: ApproversSource | undefined,
  { agent, tool, args }: { agent: string; tool: string; args: JsonObject },
) {
  const file = await approvers?.current();
  if (file === undefined) return undefined;
  const kind = raisedKind(args);
  const schema = kind && raiseSchema(kind);
  const ruling = file.rulingOn({ agent, tool, args, ...RAISE, schema });
  return { ...ruling, file, refused: ruling.action === 'refuse' ? refusalBy(ruling) : undefined };
}

/**
 * Checks the votes on a request for more budget, like the check before a handler. If this check allows the request, the
 * turn itself adds to its budget.
 */
export async function runRaise(deps: ActivityDeps, input: CallInput): Promise<CallOutput> {
  const { agent, tool, arguments: args, decision } = input;
  const refuse = (message: string): CallOutput =>
    cachedOutput(deps, notRunResult({ tool: undefined, input }, { code: 'refused', message }));
  const other = decision === undefined ? 'it needs a decision and has none' : whatIsOther(input);
  if (other !== undefined) return refuse(`Refused: ${other}. Nothing was added.`);
  const ruling = await rulingOn(deps.approvers, { agent, tool, args });
  if (ruling?.refused !== undefined) return refuse(`Refused: ${ruling.refused}. Nothing was added.`);
  const own = ruling?.file.authorityBy(ruling, requestersOf(input.origin, input.authority));
  const check = {
    own,
    file: ruling?.file,
    place: placeHere,
    times: () => requestTimes(input),
    now: Date.now(),
  };
  let roster: Roster | undefined;
  try {
    const votes = await checkVotes(check, input);
    if ('askAgain' in votes) return votes;
    ({ roster } = votes);
    const spent = votes.isSigned ? await spentBefore(deps, input) : undefined;
    if (spent !== undefined) return 'lack' in spent ? handBack(input, spent.lack) : spent;
  } catch (error) {
    return notHere(input, votesUnchecked(error));
  }
  const voided = await voidDecision(input);
  if (voided !== undefined) return { askAgain: voided };
  const facts = { timestamp: new Date().toISOString(), safety: RAISE.safety, approved: true };
  const result = makeSuccess(input, { content: raisedText(args), contentType: 'text' }, facts);
  return { ...cachedOutput(deps, result), roster };
}
