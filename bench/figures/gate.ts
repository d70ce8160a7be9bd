import { absolute, alternate, relative, timed, type Bench, type Measurement } from '../figure';
import { runTurn } from './step';

/** Of a turn whose steps are timed. */
const STEPS = 100;
const ROUNDS = 9;

const perStep = async (bench: Bench, agent: string): Promise<number> =>
  (await timed(() => runTurn(bench, agent))) / STEPS;

/** A hundred quick steps of an agent with `durability: 'gate'`, beside the same agent without, and what such steps leave behind. */
export const gate: Measurement = {
  name: 'gate',
  async run(bench) {
    const [baselines, bursts, each] = await alternate(
      ROUNDS,
      () => perStep(bench, 'hundred'),
      () => perStep(bench, 'gate'),
      () => perStep(bench, 'gate-each'),
    );
    const large = await runTurn(bench, 'gate-large');
    const { historySize = NaN } = await bench.client.workflow.getHandle(large).describe();
    return [
      relative('durability gate, 100 quick steps', { values: bursts, baselines, unit: 'ms' }, {}),
      relative('the same with commitEvery 0', { values: each, baselines, unit: 'ms' }, {}),
      absolute('history of 100 steps of 8 KB in bursts', historySize / 1e6, { most: 1.2, unit: 'MB' }),
    ];
  },
};
