import { NO_LIMIT } from '../../../bench/figure';
import { judgePeers, peersTables, type Row } from '../../../bench/peers/rows';

const loop = (ms: number, storedBytes: number) => ({
  ...{ runs: [1, 2, 1.5].map((times) => ({ busy: ms * times, rested: ms * times + 1 })), cpuMs: 2 },
  ...{ storedBytes, effects: 1, then: 'a person is asked' },
});
const of = (kind: Row['kind'], decision: number, own?: ReturnType<typeof loop>): Row => ({
  ...{ kind, name: `the ${kind}`, decisions: [decision, 1000, decision, 1] },
  ...(own === undefined ? {} : { loop: own }),
});

const rows = (gateMs: number, bytes: number, decision: number): Row[] => [
  of('step', decision, loop(30, 2e6)),
  of('gate', 500, loop(gateMs, bytes)),
  of('each', 500, loop(20, 2e6)),
  of('raw', 20),
  of('dbos', 4, loop(4, 9e5)),
  of('restate', 3, { ...loop(2, 9e5), effects: 2, then: 'done' }),
];

const heldOf = (measured: readonly Row[]): boolean[] =>
  judgePeers(measured)
    .filter(({ limit }) => limit !== NO_LIMIT)
    .map(({ ok }) => ok);

it.each([
  ['all of it', rows(1, 1.2e6, 30), [true, true, true, true]],
  ['but for the step beside Restate', rows(1.1, 1e6, 20), [true, false, true, true]],
  ['but for the step', rows(2.1, 1e6, 20), [false, false, true, true]],
  ['but for the disk', rows(1, 1.21e6, 20), [true, true, false, true]],
  ['but for the decision', rows(1, 1e6, 30.1), [true, true, true, false]],
  ['nothing that was not measured', [], [false, false, false, false]],
])('holds %s', (_, measured, expected) => {
  expect(heldOf(measured)).toEqual(expected);
});

it('says of each stack what it costs, and of each limit whether it holds', () => {
  const lines = peersTables(rows(1.1, 1e6, 20));
  expect(lines).toContain(
    '| the gate | 1.65 ms (0.0367×) | 2.65 ms | 2 ms | 1 MB | 500 ms | once; a person is asked |',
  );
  expect(lines).toContain('| the raw | - | - | - | - | 20 ms | - |');
  expect(lines).toContain('| the restate | 3 ms (0.0667×) | 4 ms | 2 ms | 0.9 MB | 3 ms | 2 times; done |');
  expect(lines.slice(-8)).toEqual([
    '| figure | value | baseline | ratio | to hold | holds |',
    '| --- | --- | --- | --- | --- | --- |',
    '| step with durability gate, beside DBOS | 1.65 ms | 6 | 0.275 | ≤ 0.5× | yes |',
    '| step with durability gate, beside DBOS, after a rest | 2.65 ms | 7 | 0.379 | - | - |',
    '| step with durability gate, beside Restate | 1.65 ms | 3 | 0.55 | ≤ 0.5× | **no** |',
    '| step with durability gate, beside Restate, after a rest | 2.65 ms | 4 | 0.663 | - | - |',
    '| disk for 100 steps of 8 KiB with durability gate | 1 MB | - | - | ≤ 1.2 MB | yes |',
    '| decision → tool, over a raw signal | 0 ms | - | - | ≤ 10 ms | yes |',
  ]);
});
