import { type AwayReader, createAwayReader } from './away';
import { createGrantsReader, type GrantsReader } from './grants';
import { createPausesReader, lookAtControl, type PausesReader } from './pauses';

/** The readers by which the calls of a process ask the workflow that holds pauses, grants and out-of-office entries. */
export function createControlReaders(): { pauses: PausesReader; grants: GrantsReader; away: AwayReader } {
  const pauses = createPausesReader({ look: lookAtControl });
  return {
    pauses,
    grants: createGrantsReader({ memo: pauses.grants }),
    away: createAwayReader({ count: pauses.away }),
  };
}
