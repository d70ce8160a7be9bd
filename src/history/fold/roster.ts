import { z } from 'zod';
import type { Roster } from '../../contract/authority/roster';
import { guard } from './guards';

const site = z.object({ rpId: z.string(), origins: z.array(z.string()) });
const roster = z.object({
  installation: z.string(),
  fileDigest: z.string(),
  lines: z.array(
    z.object({
      ...{ decisionId: z.string(), person: z.string(), mail: z.string().optional() },
      ...{ groups: z.array(z.string()), line: z.string(), site: site.optional() },
    }),
  ),
});

const isRoster = guard<Roster>(roster);

/** By what a worker says that it found signatures good; undefined: it does not, or cannot be read. */
export function rosterIn(said: unknown): Roster | undefined {
  return isRoster(said) ? said : undefined;
}
