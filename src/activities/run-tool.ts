import { ApplicationFailure } from '@temporalio/activity';
import { defined } from '../contract/defined';
import { FAILURES, idempotencyKey } from '../contract/names';
import type { Roster } from '../contract/roster';
import type { AskAgain, CallInput, CallOutput, SpentDecision, StartedBy } from '../contract/call';
import { LIMITS } from '../contract/limits';
import { MAY_HAVE_RUN } from '../contract/call-texts';
import { describeIssues } from '../contract/read-json';
import { type ToolFailure, type ToolResult, validationFailure } from '../contract/result';
import type { ActivityDeps } from './deps';
import { startInThisRun, unreadStart } from './earlier-start';
import {
  aboutTurn,
  type AskedExecution,
  cachedOutput,
  execute,
  type Execution,
  isLaterAttempt,
  notRunResult,
  ranBefore,
  withNote,
} from './execute';
import { lackOf, notHere } from './leave-to-another';
import { claimGrant, type GrantedCall, voidGrant } from '../authority/grants/worker-claim';
import { lookForChild } from './check-child';
import { heldState, withHolder } from './held-state';
import { pausedCall } from '../authority/pauses/worker-hold';
import { makePreview } from './prepare-call';
import { earlierBeat, type Since, startHeartbeat, whileBeating } from './heartbeat';
import { runUnsafe, startedBefore } from './run-unsafe';
import { digestJson, seenDigestOf } from '../contract/digest';
import type { FilePlan, Preview } from '../contract/plan';
import type { CallLog } from '../tools/call-log';
import type { Agent } from '../tools/define-agent';
import type { RunOutcome } from '../tools/outcome';
import { cutOutput } from '../tools/cut-output';
import { describeFailure } from '../tools/format-result';
import { asCalled, unshownIn } from '../tools/prepare';
import type { Issue } from '../contract/tool';
import type { Tool } from '../tools/types';
import { contentDigest } from '../tools/content-digest';
import { requestersOf } from '../authority/votes/requesters';
import { authorityOfCall, checkVotes, votesUnchecked } from '../authority/votes/worker-check';
import { dryKindOf } from '../contract/dry-run';
import { mayHaveRunBeforeReset, ownEvents, voidDecision, requestTimes, placeHere } from './reset-history';
import { NOTHING_RAN, policyRefusal } from '../tools/function-policy';
import type { ApproversSource } from '../authority/rules/current-file';
import type { PolicyRules } from '../authority/rules/policy-file';
import { askRules } from '../authority/rules/worker-verdict';

/**
 * Runs one call. A return value is final. It throws only if the call is to run again, which an unsafe call never is.
 * For an unsafe call, it first looks for an earlier start: a tool that has changed or is gone does not undo such a
 * start. The last checks come right before the start, because the machine may be frozen while the policy is asked.
 */
export async function runTool(deps: ActivityDeps, input: CallInput): Promise<CallOutput> {
  const { value: ready, since } = await whileBeating(async () => {
    const known = (await mayHaveRunBeforeReset(input)) ? { ...input, mayHaveRun: true as const } : input;
    const found = await makeReady(deps, known);
    return 'output' in found ? { output: withEarlier(known, found.output) } : found;
  });
  if ('output' in ready) return ready.output;
  const { execution } = ready;
  if (execution.tool.child !== undefined)
    return withLeave(execution, await lookForChild(execution, execution.tool.child));
  const run = execution.tool.effect === 'unsafe' ? runUnsafe : runRepeatable;
  return withLeave(execution, withHolder(execution.state, await run(execution, since)));
}

/** Adds to an output the use of a grant, or the roster of the signatures, by which its call started. */
function withLeave({ grant, roster }: StartedBy, output: CallOutput): CallOutput {
  const isStarted = 'result' in output || 'inDoubt' in output || 'child' in output;
  return isStarted ? { ...output, ...defined({ grant, roster }) } : output;
}

/**
 * Notes that an earlier attempt may have run, if people are asked again: a denial then does not say that nothing ran.
 */
function withEarlier(input: CallInput, output: CallOutput): CallOutput {
  return 'askAgain' in output && input.effect !== 'unsafe' && ranBefore(input)
    ? { ...output, mayHaveRun: true }
    : output;
}

/** A call that may start now, or the output of a call that may not. */
type Ready = { execution: Execution } | { output: CallOutput };

async function makeReady(deps: ActivityDeps, input: CallInput): Promise<Ready> {
  const agent = deps.agents.get(input.agent);
  const named = agent?.registry.get(input.tool);
  const tool = named && asCalled(named, input.arguments);
  const key = idempotencyKey(input);
  // The server is asked while the signatures are checked. The check of pauses below uses its answer if that is less than
  // a second old. Whether the signatures were spent is asked only where the rule wants them.
  if (input.decision?.votes?.some(({ signature }) => signature !== undefined)) {
    void pausedCall(deps, input, false);
    if (input.authority?.rule.assurance !== 'claimed') void ownEvents();
  }
  const checked =
    agent === undefined || tool === undefined
      ? undefined
      : await recheck({ agent, tool, log: deps.run.log, ...rulesIn(deps) }, input);
  const unsafe = input.effect === 'unsafe' || tool?.effect === 'unsafe';
  const earlier = unsafe ? await startedBefore({ deps, tool, input, key }) : undefined;
  if (earlier !== undefined) return { output: earlier };
  if (tool === undefined || checked === undefined)
    return { output: handBack(input, lackOf(deps, input) ?? `no worker with the tool ${input.tool} here`) };
  if ('askAgain' in checked) return { output: checked };
  if ('lack' in checked) return { output: handBack(input, checked.lack) };
  if (!checked.ok) return notRun({ deps, tool, input }, checked.failure);
  const unlike = await unlikeShown({ deps, tool, input }, checked.value);
  if (unlike !== undefined) return notRun({ deps, tool, input }, unlike);
  const spent = checked.isSigned ? await spentBefore(deps, input) : undefined;
  if (spent !== undefined) return { output: spent };
  const voided = tool.effect === 'unsafe' ? undefined : await voidDecision(input);
  if (voided !== undefined) return { output: { askAgain: voided } };
  // If the grant does not count here, a person decides the call. In that case a pause does not hold it.
  const { granted } = checked;
  const unallowed = granted && (await voidGrant(deps.grants, input, granted));
  if (unallowed !== undefined) return { output: withoutGrant(input, unallowed) };
  // Pauses are checked last, because the checks before may have taken some time.
  const paused = await pausedCall(deps, input, ranBefore(input));
  if (paused !== undefined) return { output: paused };
  const grant = granted && (await claimGrant(deps.grants, input, granted));
  if (grant !== undefined && !('use' in grant)) return { output: withoutGrant(input, grant) };
  // Claiming the grant took some time.
  const pausedSince = grant && (await pausedCall(deps, input, ranBefore(input)));
  if (pausedSince !== undefined) return { output: pausedSince };
  const state = heldState(deps, tool, { input, idempotencyKey: key });
  const { value, roster } = checked;
  return { execution: { deps, tool, input, value, key, state, grant, roster } };
}

function notRun(
  { deps, tool, input }: Omit<AskedExecution, 'key'>,
  failure: ToolFailure,
): { output: CallOutput } {
  return { output: cachedOutput(deps, notRunResult({ tool, input }, withWhatRan(input, failure))) };
}

/**
 * The failure of a call whose preview is not what the approver was shown. A plan with a target shows itself: screens show
 * its hunks. Nothing binds the text of any other preview to its plan. So the preview is made again if there is a plan, or
 * if the tool has a place: the preview then says what the call can reach there. Undefined: nothing differs, or the tool is
 * another one.
 */
async function unlikeShown(
  { deps, tool, input }: { deps: ActivityDeps; tool: Tool; input: CallInput },
  value: unknown,
): Promise<ToolFailure | undefined> {
  const { decision, plan, callId } = input;
  const hasPlace = tool.declaredDigest !== undefined;
  if (decision === undefined || (plan === undefined && !hasPlace)) return undefined;
  // An edit may have made it a call that nobody has to be asked about: no preview was made of it.
  if (decision.previewDigest === undefined && tool.safety !== 'dangerous') return undefined;
  try {
    const preview = await makePreview({ tool, value, callId }, { run: deps.run, about: aboutTurn(input) });
    if (isAsShown(preview, { decision, plan, hasPlace })) return undefined;
    return notAsShown(`It is now:\n${cutOutput(preview?.text ?? '', LIMITS.reasonBytes)}`);
  } catch (error) {
    // The handler compares the file with such a plan. An earlier attempt may have left nothing to change.
    if (hasTarget(plan)) return undefined;
    return notAsShown(describeFailure(error, deps.run.secrets?.hide).message);
  }
}

/** Whether a preview made now shows what the approver was shown. The plan of the call's input may say anything. */
function isAsShown(
  now: Preview | undefined,
  { decision, plan, hasPlace }: { decision: SpentDecision; plan: FilePlan | undefined; hasPlace: boolean },
): boolean {
  // An earlier attempt may have left nothing to change, so that there is no plan any more.
  if (hasTarget(plan) && now?.plan === undefined && isLaterAttempt()) return true;
  if (hasTarget(now?.plan) !== hasTarget(plan)) return false;
  if (!hasTarget(plan)) return (now && contentDigest(now.text)) === decision.previewDigest;
  return !hasPlace || now?.plan?.baseHash !== plan?.baseHash || now?.plan?.targetHash === plan?.targetHash;
}

function hasTarget(plan: FilePlan | undefined): boolean {
  return plan !== undefined && plan.targetHash !== '';
}

function notAsShown(how: string): ToolFailure {
  const message = `Conflict: a file changed since this was approved, or the approver was shown something else. This attempt ran nothing. Ask for it anew. ${how}`;
  return { code: 'conflict', message };
}

/** The output of a call that its grant did not allow: a person is asked, or the call is tried again. */
function withoutGrant(input: CallInput, no: AskAgain | { lack: string }): CallOutput {
  return 'lack' in no ? handBack(input, no.lack) : no;
}

/**
 * The output of a call that may have been started before by the same signatures. Undefined: these signatures did not
 * start the call before.
 */
export async function spentBefore(
  deps: Pick<ActivityDeps, 'giveBacks'>,
  input: CallInput,
): Promise<CallOutput | undefined> {
  try {
    const message = await startInThisRun(deps, input);
    return message === undefined ? undefined : { inDoubt: { message } };
  } catch (error) {
    return handBack(input, unreadStart(error));
  }
}

/**
 * Gives back a call whose tool is missing on this task queue. The agent may still have that tool. An unsafe call that
 * had started is in doubt.
 */
export async function handBackUnregistered(deps: ActivityDeps, input: CallInput): Promise<CallOutput> {
  const asked = { deps, tool: undefined, input, key: idempotencyKey(input) };
  const look = () => startedBefore(asked);
  const earlier = input.effect === 'unsafe' ? (await whileBeating(look)).value : undefined;
  const { agent, tool } = input;
  if (earlier !== undefined) return earlier;
  const lack = lackOf(deps, { agent }) ?? `no worker with the tool ${tool} of agent "${agent}" on this queue`;
  return handBack(input, lack);
}

/**
 * Gives a call that did not start back to the turn, which reports that nothing ran if no worker takes it. A call that
 * an earlier attempt may have run is left to another worker instead, for as many attempts as it has.
 */
function handBack(input: CallInput, lack: string): CallOutput {
  if (input.effect === 'pure' || !isLaterAttempt()) return notHere(input, lack);
  const message = `This attempt could not start: ${lack}. ${MAY_HAVE_RUN}`;
  throw retryFailure(notRunResult({ tool: undefined, input }, { code: 'transport', message }));
}

/**
 * The failure of a call that may run again. The failure keeps the result so far and the roster, which are needed once
 * all attempts are used up.
 */
export function retryFailure(result: ToolResult, roster?: Roster): ApplicationFailure {
  const message = result.error?.message ?? 'the call may run again';
  return ApplicationFailure.create({
    type: FAILURES.retry,
    message,
    details: roster === undefined ? [result] : [result, roster],
  });
}

function withWhatRan(input: CallInput, failure: ToolFailure): ToolFailure {
  if (ranBefore(input)) return { ...failure, message: `${failure.message} ${MAY_HAVE_RUN}` };
  return failure.code === 'refused' ? { ...failure, message: failure.message + NOTHING_RAN } : failure;
}

/**
 * Runs a pure or idempotent call. A lost attempt may run again with the same key. A decision counts for only one run of
 * the turn.
 */
async function runRepeatable(execution: Execution, since: Since): Promise<CallOutput> {
  const guard = startHeartbeat(earlierBeat(), since);
  try {
    const outcome = await execute(execution, guard);
    const lostReason = guard.lost();
    const result = withNote(execution.input, knownResult(execution, outcome));
    const ended = result.success || lostReason === undefined || lostReason === 'cancelled';
    if (ended && !outcome.retryable) return cachedOutput(execution.deps, result);
    await guard.flush();
    throw retryFailure(result, execution.roster);
  } finally {
    guard.stop();
  }
}

/** The result of an attempt. If this attempt did not start, the result says that an earlier attempt may have run. */
function knownResult(execution: Execution, { handler, result }: RunOutcome): ToolResult {
  const { input } = execution;
  if (handler !== 'unstarted' || !ranBefore(input)) return result;
  return notRunResult(execution, {
    code: 'cancelled',
    message: `This attempt did not start. ${MAY_HAVE_RUN}`,
  });
}

/**
 * The arguments for the handler, or the reason why this attempt must not run. If this worker cannot decide that, the
 * part that it lacks.
 */
type Rechecked =
  | { ok: true; value: unknown; isSigned: boolean; granted?: GrantedCall; roster?: Roster }
  | { ok: false; failure: ToolFailure }
  | { lack: string }
  | AskAgain;

/** The sources that say who may decide. */
function rulesIn({ approvers, rules }: ActivityDeps): Omit<RecheckedBy, 'agent' | 'tool' | 'log'> {
  return { approvers, rules };
}

/** The agent whose policy is asked, and the tool that would run. */
interface RecheckedBy {
  agent: Agent;
  tool: Tool;
  log?: CallLog | undefined;
  approvers?: ApproversSource | undefined;
  rules?: PolicyRules | undefined;
}

/**
 * The last check before the handler. The tool, the arguments and the plan must be the ones that were approved. The
 * arguments must still fit, and the policy must still hold. A call that needs a decision must have one. A call in a dry
 * fork must change nothing. This attempt has run nothing yet, so a refusal is always safe. The caller has to consider
 * earlier attempts.
 */
export async function recheck({ agent, tool, ...by }: RecheckedBy, input: CallInput): Promise<Rechecked> {
  const changed = whatChanged(tool, input);
  if (changed !== undefined) return refused(changed);
  const parsed = tool.parse(input.arguments);
  if (!parsed.ok) return unfit(input, parsed.issues);
  const unshown = input.decision === undefined ? undefined : unshownIn(input.arguments, parsed.value);
  if (unshown !== undefined)
    return refused(`the tool fills in ${unshown}, which nobody was shown; give it with the arguments`);
  const owner = { agent: agent.name, policy: agent.policy, ...by };
  const requesters = requestersOf(input.origin, input.authority);
  const call = { tool, args: input.arguments, value: parsed.value };
  const verdict = await askRules(owner, { ...call, requesters });
  if (verdict.decision === 'refuse') return { ok: false, failure: policyRefusal(verdict) };
  const isGranted = input.decision === undefined && input.grant !== undefined;
  if (verdict.decision === 'ask' && input.decision === undefined && !isGranted)
    return refused('it needs a decision and has none');
  const { authority: own, file, ruling } = verdict;
  if (isGranted) {
    const known = authorityOfCall(own, input);
    if ('askAgain' in known) return { ...known, secret: input.secret };
    const { authority } = known;
    const about = { ...call, agent: agent.name, policyDigest: ruling?.digest };
    const isSigned = authority !== undefined && authority.rule.assurance !== 'claimed';
    return { ok: true, value: parsed.value, isSigned, granted: { ...about, authority, file } };
  }
  try {
    const times = () => requestTimes(input);
    const votes = await checkVotes({ own, file, place: placeHere, times, now: Date.now() }, input);
    return 'askAgain' in votes ? votes : { ...votes, value: parsed.value };
  } catch (error) {
    return { lack: votesUnchecked(error) };
  }
}

/**
 * Arguments that do not fit. The person who changed them is asked again: the turn could only check them by the JSON
 * Schema, which says less than the tool's own check.
 */
function unfit({ decision, secret }: CallInput, issues: readonly Issue[]): Rechecked {
  if (decision?.decision !== 'modified') return { ok: false, failure: validationFailure(issues) };
  const askAgain = `the new arguments do not fit: ${describeIssues(issues)}`;
  return { askAgain, secret };
}

/** What has changed since the call was prepared and approved, in words. Undefined if nothing has changed. */
function whatChanged(tool: Tool, input: CallInput): string | undefined {
  if (tool.digest !== input.toolDigest)
    return 'the tool changed since this call was prepared, or this worker is set up otherwise; ask for it again';
  if (tool.effect !== input.effect)
    return `it was prepared as ${input.effect} and would run as ${tool.effect}; ask for it again`;
  const other = whatIsOther(input);
  if (other !== undefined) return other;
  const isDecided = input.decision !== undefined || input.grant !== undefined;
  const isOnlyRecorded = input.dry === true && dryKindOf(tool.effect, isDecided) !== undefined;
  return isOnlyRecorded ? 'its turn is a fork in a dry world' : undefined;
}

/** How the call differs from the call that was decided on, in words. Undefined if it does not differ. */
export function whatIsOther(input: CallInput): string | undefined {
  if (digestJson(input.arguments, contentDigest) !== input.argsDigest)
    return 'the arguments are not those that were approved';
  if (input.decision !== undefined && !isWhatWasSeen(input, input.decision))
    return 'it is not what was shown to the approver';
  return undefined;
}

/**
 * Whether the call is what the approver saw. The stored digest of the preview is used, because a new preview may
 * differ: see `unlikeShown` for those that may not. The arguments and the plan are digested again.
 */
function isWhatWasSeen({ argsDigest, plan }: CallInput, decision: SpentDecision): boolean {
  const { seenDigest, previewDigest } = decision;
  const shown = {
    argsDigest,
    previewDigest,
    planDigest: plan && digestJson(plan, contentDigest),
  };
  return seenDigestOf(shown, contentDigest) === seenDigest;
}

function refused(why: string): Rechecked {
  return { ok: false, failure: { code: 'refused', message: `Refused before it ran: ${why}.` } };
}
