import { getCurrentDetails } from '@temporalio/workflow';
import { makeApprovals } from '../approvals/state';
import type { Gated } from '../gated';
import { Publisher } from '../publish';
import { currentDetails } from '../summary';
import type { CarriedGate } from './types';

/** Decisions taken along when a workflow continues as new; as many as a turn takes. */
const CARRIED_DECISIONS = 200;

/** A gate as its own code sees it. */
export interface GateState extends Gated {
  /** How many requests there were. */
  asked: number;
  readonly publisher: Publisher;
}

/** A gate with nothing open, or where the run before left it. */
export function makeGate(carried?: CarriedGate): GateState {
  const gated: Gated = {
    approvals: makeApprovals(carried?.spent),
    stepKey: '',
    signalVerdicts: [],
    signalCount: 0,
    revision: 0,
  };
  return Object.assign(gated, { asked: carried?.asked ?? 0, publisher: new Publisher(gated, keepOwn()) });
}

/** What the next run needs. */
export function carryGate({ asked, approvals }: GateState): CarriedGate {
  return { asked, spent: [...approvals.verdicts].slice(-CARRIED_DECISIONS) };
}

/** While something waits the details tell so; then they are again what the workflow itself had set. */
function keepOwn(): ConstructorParameters<typeof Publisher>[1] {
  let own: string | undefined;
  return (open) => {
    if (open.length > 0) {
      own ??= getCurrentDetails();
      return currentDetails(open, 0);
    }
    const details = own ?? getCurrentDetails();
    own = undefined;
    return details;
  };
}
