import { isDeepStrictEqual } from 'node:util';
import { ApplicationFailure, CancelledFailure, Context } from '@temporalio/activity';
import { type Payload, RawValue } from '@temporalio/common';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import type { CallInput, CallOutput } from '../../contract/call';
import { errorMessage } from '../../contract/errors';
import { argumentsIn, GATE_FAILURES, GATE_HEADER, type GateHeader, shownJson } from '../../contract/gate';
import { isJsonObject, type JsonObject, parseJson } from '../../contract/json';
import { idempotencyKey } from '../../contract/names';
import { makeSuccess, type ResultContent } from '../../contract/result';
import { askRules, ruleOwner } from '../../authority/rules/worker-verdict';
import { markLate } from '../../tools/outcome';
import { fitArguments } from '../../tools/prepare';
import { notRunResult, outcomeReporter, writeOutcome } from '../execute';
import { describeLostAttempt, type Since, startHeartbeat, whileBeating } from '../heartbeat';
import { isGivenUp, writeIntent } from '../run-unsafe';
import { whatStops } from '../start-checks';
import { startingCall, stoppedOutput } from '../start-checks/starting-call';
import { readGateHeader } from './header';
import { depsFor, type GateTarget, type GateWorker, givenTool } from './gated-tools';

type Run = () => Promise<unknown>;

/**
 * Makes the interceptor that looks at each gated activity right before its code, as our own activities do. An activity
 * that no gate let run does not run.
 */
export function gateInterceptor(worker: GateWorker): ActivityInterceptorsFactory {
  return ({ info }) => ({
    inbound: {
      execute: (input, next) => {
        const header = input.headers[GATE_HEADER];
        const gated = worker.gated.get(info.activityType);
        if (header === undefined && gated === undefined) return next(input);
        const run = () => next(input);
        return header === undefined
          ? withoutHeader(worker, gated, { args: input.args, run })
          : withHeader(worker, readHeader(header), { args: input.args, run });
      },
    },
  });
}

const MOST_HEADER_BYTES = 256 * 1024;

/** Anybody who may schedule an activity writes a header. */
function readHeader(header: Payload): GateHeader {
  const bytes = header.data?.length ?? 0;
  if (bytes > MOST_HEADER_BYTES) throw refused(`its header has ${bytes} bytes`);
  const read = readGateHeader(header);
  if (read !== undefined) return read;
  throw refused('its header is none of a gate');
}

interface Attempt {
  args: readonly unknown[];
  run: Run;
}

/** Nobody was asked. The call runs only if nobody has to be. */
async function withoutHeader(worker: GateWorker, gated: GateTarget | undefined, { args, run }: Attempt) {
  const { info } = Context.current();
  const { before = -Infinity } = worker;
  if (gated === undefined || info.scheduledTimestampMs < before) return run();
  const read = argumentsIn(gated, args);
  if (typeof read === 'string') throw refused(read);
  const tool = gated.toolFor(read.tool);
  const fit = fitArguments(tool, jsonOf(read.args));
  if (!fit.ok) throw refused(fit.failure.message);
  const { agent, ...deps } = depsFor(worker, info.workflowType ?? '', tool);
  const { decision } = await askRules(ruleOwner(agent, deps), {
    tool: fit.tool,
    args: fit.args,
    value: fit.value,
    requesters: [],
  });
  if (decision === 'run') return run();
  throw refused('the workflow did not ask: its worker, or its bundle, lacks the plugin');
}

async function withHeader(worker: GateWorker, header: GateHeader, attempt: Attempt) {
  const { info } = Context.current();
  const { gated: name, hasKey, ...start } = header;
  const own = worker.gated.get(info.activityType);
  // A gate starts neither, and no history of a workflow would show whether one started before.
  if (info.isLocal || !info.inWorkflow) throw refused('no gate schedules a call like this');
  if (own === undefined && name !== undefined)
    throw refused(`the plugin of this worker does not gate ${name}`);
  const [first, ...rest] = attempt.args;
  // With these options its arguments are no such pair, and the name of its tool is among them.
  const isPair = own?.args === undefined && own?.from === undefined;
  if (hasKey === true && !(isPair && isDeepStrictEqual(rest, [idempotencyKey(start)])))
    throw refused('it was not given its arguments and its key, as by `gate.run`');
  const read = argumentsIn(own ?? {}, hasKey === true ? [first] : attempt.args);
  if (typeof read === 'string') throw refused(read);
  const input: CallInput = { ...start, arguments: jsonOf(read.args) };
  const tool = own?.toolFor(read.tool) ?? {
    ...givenTool(input.tool, { effect: input.effect }),
    digest: input.toolDigest,
  };
  // The type is what the server says, whatever the header says.
  const deps = depsFor(worker, info.workflowType ?? '', tool);
  const call = startingCall(deps, { ...input, agent: info.workflowType ?? '', tool: tool.name });
  const { value: stop, since } = await whileBeating(() => whatStops(call, deps));
  if (stop !== undefined) return saidOf(await stoppedOutput(call, deps, stop), input);
  if (tool.effect === 'unsafe') return runOnce(worker, call, { run: attempt.run, since });
  const lost = lostSince(since);
  if (lost === undefined) return attempt.run();
  const message = `This attempt did not start: ${describeLostAttempt(lost)}`;
  throw lost === 'cancelled' ? new CancelledFailure(message) : ApplicationFailure.retryable(message);
}

/**
 * The output of a call that did not run. Only the worker of the call knows its secret. A value that the journal has is
 * returned as the code of the activity did.
 */
function saidOf(output: CallOutput, { secret }: Pick<CallInput, 'secret'>) {
  if (!('result' in output) || !output.result.success) return new RawValue({ ...output, secret });
  const { content, contentType } = output.result;
  return contentType === 'json' ? parseJson(content) : content;
}

/** Runs an unsafe call for which no earlier start is known. The journal has its intent before, and its outcome after. */
async function runOnce(
  { deps }: GateWorker,
  call: ReturnType<typeof startingCall>,
  { run, since }: { run: Run; since: Since },
) {
  const { input, key } = call;
  const stop = await writeIntent({ deps, input, key });
  if (stop !== undefined) return saidOf(stop, input);
  // The checks and the journal took some time. Somebody may have found by now that the call did not run.
  const lost = lostSince(since);
  if (lost !== undefined) {
    const message = `Not started: ${describeLostAttempt(lost)}. Nothing ran.`;
    const code = lost === 'cancelled' ? lost : 'transport';
    const result = notRunResult({ tool: call.registered?.tool, input }, { code, message });
    await writeOutcome({ deps, input, key }, result);
    return saidOf({ result }, input);
  }
  const began = Date.now();
  const value = await run();
  const facts = {
    timestamp: new Date().toISOString(),
    executionTimeMs: Date.now() - began,
    safety: 'dangerous' as const,
    approved: input.decision !== undefined,
  };
  const result = makeSuccess(input, returnedJson(value), facts);
  await writeOutcome({ deps, input, key }, result);
  if (await isGivenUp(result)) await outcomeReporter({ input })(markLate(result, 'it was given up'));
  return value;
}

function lostSince(since: Since): ReturnType<ReturnType<typeof startHeartbeat>['lost']> {
  const guard = startHeartbeat(undefined, since);
  guard.stop();
  return guard.lost();
}

/**
 * What the code returned, as JSON, so that the workflow gets back the same. A value that JSON cannot hold is only named:
 * it ran, and the converter of the worker may know how to send it.
 */
function returnedJson(value: unknown): ResultContent {
  try {
    return { content: JSON.stringify(value) ?? 'null', contentType: 'json' };
  } catch (error) {
    return { content: `It ran. Its value is not JSON: ${errorMessage(error)}`, contentType: 'text' };
  }
}

/** The arguments as JSON keeps them. Anything but an object has none. */
function jsonOf(args: unknown): JsonObject {
  const read = parseJson(shownJson(args) ?? '');
  if (isJsonObject(read)) return read;
  throw refused('its arguments are not plain JSON');
}

function refused(why: string) {
  return ApplicationFailure.nonRetryable(`this gated call did not run: ${why}`, GATE_FAILURES.refused);
}
