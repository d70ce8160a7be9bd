import { readHistories, readHistory, readRunEvents } from '../history/read-histories';
import { readTimeline, readTurn } from '../history/read';
import { viewOf } from '../history/view';
import { abandonTurn, cancelTurn } from './cancel-turn';
import { countWaiting } from './count-waiting';
import { decideCall, resolveCall } from './decide';
import type { Desk } from './desk';
import { findTurn } from './find-turn';
import { forkTurn } from './fork-turn';
import { readInbox } from './inbox';
import { listTurns } from './list';
import { pendingActivities } from './pending';
import { planTurnReset, resetTurn } from './reset-turn';
import { listRuns } from './runs';
import { startTurn } from './start-turn';
import type { Countersign } from './types';

/** Puts the operations of the client together. */
export function makeCountersign(desk: Desk, close: () => Promise<void>): Countersign {
  return {
    client: desk.client,
    namespace: desk.namespace,
    start: (request) => startTurn(desk, request),
    fork: (request) => forkTurn(desk, request),
    planReset: (turn, before) => planTurnReset(desk, turn, before),
    reset: (plan, reason = {}) => resetTurn(desk, plan, reason),
    find: (prefix) => findTurn(desk, prefix),
    decide: (turn, decision) => decideCall(desk, turn, decision),
    resolve: (turn, resolution) => resolveCall(desk, turn, resolution),
    cancel: (turn, reason) => cancelTurn(desk, turn, reason),
    abandon: (turn, abandonment) => abandonTurn(desk, turn, abandonment),
    follow: (turn, options = {}) => readTurn(desk.source, turn, { ...options, live: true }),
    timeline: (turn) => readTimeline(desk.source, turn),
    view: async (turn) => viewOf(await readTimeline(desk.source, turn)),
    pendingActivities: (turn) => pendingActivities(desk, turn),
    inbox: (query = {}) => readInbox(desk, query),
    countWaiting: () => countWaiting(desk),
    list: (query = {}) => listTurns(desk, query),
    runs: (query = {}) => listRuns(desk, query),
    runEvents: (run) => readRunEvents(desk.source, run),
    history: (run) => readHistory(desk.source, run),
    histories: (turn) => readHistories(desk.source, turn),
    close,
  };
}
