import { ApplicationFailure, Context } from '@temporalio/activity';
import type { CallInput, CallOutput, VerifyInput, VerifyOutput } from '../contract/call';
import { ACTIVITIES, FAILURES } from '../contract/names';
import type { PrepareInput, PrepareOutput, ThinkInput, ThinkOutput } from '../contract/think';
import type { ActivityDeps } from './deps';
import { prepareCall } from './prepare-call';
import { runTool } from './run-tool';
import { agentOf, think } from './think';
import { verify } from './verify';

/** Activities by type: ours, and one for each tool of the queue under the tool's name. */
export type Activities = Record<string, (input: never) => Promise<unknown>>;

/** Makes the activities of one worker. */
export function createActivities(deps: ActivityDeps): Activities {
  const run = (input: CallInput): Promise<CallOutput> => runTool(deps, input);
  const tools = [...deps.toolNames].map((name) => [name, run] as const);
  return {
    [ACTIVITIES.think]: (input: ThinkInput): Promise<ThinkOutput> => think(deps, input),
    [ACTIVITIES.prepare]: (input: PrepareInput): Promise<PrepareOutput> => prepare(deps, input),
    [ACTIVITIES.verify]: (input: VerifyInput): Promise<VerifyOutput> => verify(deps, input),
    ...Object.fromEntries(tools),
    default: notRegistered,
  };
}

/** What Temporal says of a tool that this worker does not have; said here, because the SDK would log the call's arguments too. */
async function notRegistered(): Promise<never> {
  const { activityType } = Context.current().info;
  throw ApplicationFailure.create({
    type: FAILURES.notRegistered,
    message: `this worker has no tool "${activityType}"`,
  });
}

async function prepare(deps: ActivityDeps, input: PrepareInput): Promise<PrepareOutput> {
  const agent = agentOf(deps, input.agent);
  const call = await prepareCall(agent, input, deps);
  const schema = call.kind === 'ask' ? agent.registry.get(input.tool)?.schema : undefined;
  return { call, ...(schema === undefined ? {} : { schema }) };
}
