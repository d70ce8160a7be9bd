import { configureGlobal } from 'fast-check';
import { isThorough } from './thorough';

/** The same commit gives the same verdict; a hunt for new cases sets COUNTERSIGN_SEED and COUNTERSIGN_RUNS. */
const SEED = 20_261_121;

const { COUNTERSIGN_SEED: seed, COUNTERSIGN_RUNS: asked } = process.env;

/** A tenth of the runs, and no fewer than these, find what breaks a rule for everybody. */
const FEWEST = 20;

/** How often a property runs: so often where every test has to run, or as COUNTERSIGN_RUNS says; else a tenth of it. */
export const runs = (all: number): number => {
  if (asked !== undefined) return Number(asked);
  return isThorough ? all : Math.max(Math.min(all, FEWEST), Math.ceil(all / 10));
};

configureGlobal({ seed: seed === undefined ? SEED : Number(seed), numRuns: runs(100) });
