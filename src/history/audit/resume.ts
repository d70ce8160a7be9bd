import { z } from 'zod';
import type { AuditRecord } from './format';
import { frameOf, type ReadLine } from './read';

/** How far each run is in a file. */
export interface Known {
  /** Takes note of a line of the file; it counts once `settle` is called. */
  note(line: ReadLine): void;
  /** A head vouches for everything that was noted. */
  settle(): void;
  /** Whether the file has a record already; if not, it counts as there from now on. */
  take(record: AuditRecord): boolean;
  /** Whether a run is in the file to its end. */
  hasWhole(run: string): boolean;
}

/** Histories only grow, and their events come in order, so the last record of a run tells which ones are there. */
interface Reached {
  event: number;
  part: number;
  over: boolean;
}

const frame = z.object({ run: z.string(), event: z.number(), part: z.number() });

/** Records after which a run has no more. */
const LAST: readonly string[] = ['turn_ended', 'continued'];

/** Knows nothing yet. */
export function createKnown(): Known {
  const runs = new Map<string, Reached>();
  const noted = new Map<string, Reached>();
  return {
    note: ({ type, body }) => {
      const parsed = frame.safeParse(frameOf(body));
      if (parsed.success) noted.set(parsed.data.run, reachedBy(parsed.data, type));
    },
    settle: () => {
      for (const [run, reached] of noted) runs.set(run, reached);
      noted.clear();
    },
    take: (record) => {
      const reached = runs.get(record.run);
      if (reached !== undefined && !isAfter(record, reached)) return true;
      runs.set(record.run, reachedBy(record, record.type));
      return false;
    },
    hasWhole: (run) => runs.get(run)?.over === true,
  };
}

function reachedBy({ event, part }: Pick<AuditRecord, 'event' | 'part'>, type: string): Reached {
  return { event, part, over: LAST.includes(type) };
}

function isAfter(record: AuditRecord, { event, part }: Reached): boolean {
  return record.event > event || (record.event === event && record.part > part);
}
