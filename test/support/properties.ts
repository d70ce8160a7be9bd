import { configureGlobal } from 'fast-check';

/** The same commit gives the same verdict; a hunt for new cases sets COUNTERSIGN_SEED and COUNTERSIGN_RUNS. */
const SEED = 20_261_121;

const { COUNTERSIGN_SEED: seed, COUNTERSIGN_RUNS: runs } = process.env;

configureGlobal({
  seed: seed === undefined ? SEED : Number(seed),
  ...(runs === undefined ? {} : { numRuns: Number(runs) }),
});
