import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startExample, type RunningExample } from './start-example';

let desk: RunningExample;

beforeAll(async () => {
  desk = await startExample('support-desk', 'REFUNDS');
}, 120_000);

afterAll(() => desk.stop());

/** The refunds of an order, as they stand on disk. */
const refundsOf = async (order: string): Promise<unknown[]> => {
  const names = (await readdir(desk.folder)).filter((name) => name.startsWith(`${order}-`)).sort();
  return Promise.all(names.map(async (name) => JSON.parse(await readFile(join(desk.folder, name), 'utf8'))));
};

it('pays back what was approved, shows the approver whom and why, and knows what is left', async () => {
  const turn = await desk.waiting('desk', 'refund 1001 20.00 because one cup was broken');
  const { out } = await desk.cli('show', `${turn}/2.1`);
  expect(out).toContain('20.00 EUR of 49.00 EUR to ann@example.org');
  expect(await refundsOf('1001')).toEqual([]);
  expect((await desk.cli('approve', `${turn}/2.1`)).code).toBe(0);
  expect(await desk.end(turn)).toContain('refunded 20.00 EUR of order 1001');
  const paid = { order: '1001', cents: 2000, reason: 'one cup was broken', key: expect.any(String) };
  expect(await refundsOf('1001')).toEqual([paid]);
  const rest = await desk.waiting('desk', 'refund 1001 because the rest broke too');
  expect((await desk.cli('approve', `${rest}/2.1`)).code).toBe(0);
  await desk.end(rest);
  expect(await refundsOf('1001')).toEqual([paid, expect.objectContaining({ cents: 2900 })]);
  const more = await desk.waiting('desk', 'refund 1001 1.00 because of everything');
  expect((await desk.cli('approve', `${more}/2.1`)).code).toBe(0);
  expect(await desk.end(more)).toContain('order 1001 has only 0.00 EUR left');
  expect(await refundsOf('1001')).toHaveLength(2);
});

it('pays back what the person made of it', async () => {
  const turn = await desk.waiting('desk', 'refund 1002 50.00 because it is loud');
  const edited = await desk.cli('approve', `${turn}/2.1`, '--set', 'cents=1500', '--reason', 'as agreed');
  expect(edited.code).toBe(0);
  expect(await desk.end(turn)).toContain('refunded 15.00 EUR');
  expect(await refundsOf('1002')).toEqual([expect.objectContaining({ cents: 1500 })]);
});

it('refuses over the limit, also where a person edits past it', async () => {
  const { code, out } = await desk.cli('run', 'desk', 'refund 1003 900.00 because it leaks');
  expect(code).toBe(0);
  expect(out).toContain('refunds over 500.00 EUR are made by accounting');
  const turn = await desk.waiting('desk', 'refund 1003 400.00 because it leaks');
  expect((await desk.cli('approve', `${turn}/2.1`, '--set', 'cents=60000')).code).toBe(0);
  expect(await desk.end(turn)).toContain('refunds over 500.00 EUR are made by accounting');
  expect(await refundsOf('1003')).toEqual([]);
});

it('pays nothing that was denied, and tells of an order that is not there', async () => {
  const turn = await desk.waiting('desk', 'refund 1003 10.00 because of a scratch');
  expect((await desk.cli('deny', `${turn}/2.1`, '--reason', 'a photo first')).code).toBe(0);
  expect(await desk.end(turn)).toContain('a photo first');
  expect(await refundsOf('1003')).toEqual([]);
  const { out } = await desk.cli('run', 'desk', 'refund 9999 10.00 because why not');
  expect(out).toContain('there is no order 9999');
});
