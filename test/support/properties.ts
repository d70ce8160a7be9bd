import { configureGlobal } from 'fast-check';
import { isThorough } from './thorough';

/** The same commit gives the same verdict; a hunt for new cases sets COUNTERSIGN_SEED and COUNTERSIGN_RUNS. */
const SEED = 20_261_121;

const { COUNTERSIGN_SEED: seed, COUNTERSIGN_RUNS: asked } = process.env;

/** How often a property runs that needs more or fewer runs than others: so often, unless COUNTERSIGN_RUNS says otherwise. */
export const runs = (usual: number): number => (asked === undefined ? usual : Number(asked));

/** The same for a property whose runs are dear: half of them, unless every test has to run. */
export const dearRuns = (all: number): number => runs(isThorough ? all : Math.ceil(all / 2));

configureGlobal({ seed: seed === undefined ? SEED : Number(seed), numRuns: runs(100) });
