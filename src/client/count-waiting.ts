import { SEARCH_ATTRIBUTES } from '../contract/names';
import { ask, type Desk } from './desk';

/** How many requests and calls in doubt wait in all turns. Errors: as `inbox`. */
export async function countWaiting(desk: Desk): Promise<number> {
  let total = 0;
  // Visibility has no sum. Turns with at least 1, at least 2, … make one, and few turns wait with many calls.
  for (let least = 1; ; least++) {
    const query = `ExecutionStatus = 'Running' AND ${SEARCH_ATTRIBUTES.pending} >= ${least}`;
    const { count } = await ask(desk, 'counting what waits', () => desk.client.workflow.count(query));
    if (count === 0) return total;
    total += count;
  }
}
