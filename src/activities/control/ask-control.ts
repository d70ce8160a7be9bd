import { Context } from '@temporalio/activity';
import { TIMES } from '../../contract/limits';
import { CONTROL } from '../../contract/names';
import { within } from '../../tools/within';

/** Asks the workflow that holds pauses, grants and who is away, by the client of the current activity. */
export function queryControl(query: string): Promise<unknown> {
  const { client } = Context.current();
  return inTime(() => client.workflow.getHandle(CONTROL.workflowId).query(query));
}

/** Asks by the client of the current activity, for as long as a worker may take to answer. */
export async function inTime<T>(ask: () => Promise<T>): Promise<T> {
  const { client } = Context.current();
  const asked = client.withDeadline(Date.now() + TIMES.useAnswer, ask);
  const { ended } = await within(asked, TIMES.useAnswer);
  if (!ended) throw new Error('no worker answered');
  return asked;
}
