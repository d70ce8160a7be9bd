import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startExample, type RunningExample } from './start-example';
import { approveSeen } from '../cli/saw';

let example: RunningExample;

beforeAll(async () => {
  example = await startExample('support-desk', 'REFUNDS');
});

afterAll(() => example.stop());

/** The refunds of an order, as they stand on disk. */
const refundsOf = async (order: string): Promise<unknown[]> => {
  const names = (await readdir(example.folder)).filter((name) => name.startsWith(`${order}-`)).sort();
  return Promise.all(
    names.map(async (name) => JSON.parse(await readFile(join(example.folder, name), 'utf8'))),
  );
};

it('pays back what was approved, shows the approver whom and why, and knows what is left', async () => {
  const turn = await example.waiting('desk', 'refund 1001 20.00 because one cup was broken');
  const { out } = await example.cli('show', `${turn}/2.1`);
  expect(out).toContain('20.00 EUR of 49.00 EUR to ann@example.org');
  expect(await refundsOf('1001')).toEqual([]);
  expect((await approveSeen(example.cli, `${turn}/2.1`)).code).toBe(0);
  expect(await example.end(turn)).toContain('refunded 20.00 EUR of order 1001');
  const paid = { order: '1001', cents: 2000, reason: 'one cup was broken', key: expect.any(String) };
  expect(await refundsOf('1001')).toEqual([paid]);
  const rest = await example.waiting('desk', 'refund 1001 because the rest broke too');
  expect((await approveSeen(example.cli, `${rest}/2.1`)).code).toBe(0);
  await example.end(rest);
  expect(await refundsOf('1001')).toEqual([paid, expect.objectContaining({ cents: 2900 })]);
  const more = await example.waiting('desk', 'refund 1001 1.00 because of everything');
  expect((await approveSeen(example.cli, `${more}/2.1`)).code).toBe(0);
  expect(await example.end(more)).toContain('order 1001 has only 0.00 EUR left');
  expect(await refundsOf('1001')).toHaveLength(2);
});

it('pays back the amount that the person set', async () => {
  const turn = await example.waiting('desk', 'refund 1002 50.00 because it is loud');
  const edited = await approveSeen(
    example.cli,
    `${turn}/2.1`,
    '--set',
    'cents=1500',
    '--yes',
    '--reason',
    'as agreed',
  );
  expect(edited.code).toBe(0);
  expect(await example.end(turn)).toContain('refunded 15.00 EUR');
  expect(await refundsOf('1002')).toEqual([expect.objectContaining({ cents: 1500 })]);
});

it('refuses over the limit, also where a person edits past it', async () => {
  const { code, out } = await example.cli('run', 'desk', 'refund 1003 900.00 because it leaks');
  expect(code).toBe(0);
  expect(out).toContain('refunds over 500.00 EUR are made by accounting');
  const turn = await example.waiting('desk', 'refund 1003 400.00 because it leaks');
  const past = await approveSeen(example.cli, `${turn}/2.1`, '--set', 'cents=60000', '--yes');
  expect(past).toMatchObject({
    code: 3,
    err: expect.stringContaining('refunds over 500.00 EUR are made by accounting'),
  });
  expect((await example.cli('deny', `${turn}/2.1`, '--reason', 'so much is not ours')).code).toBe(0);
  await example.end(turn);
  expect(await refundsOf('1003')).toEqual([]);
});

it('pays nothing that was denied, and tells of an order that is not there', async () => {
  const turn = await example.waiting('desk', 'refund 1003 10.00 because of a scratch');
  expect((await example.cli('deny', `${turn}/2.1`, '--reason', 'a photo first')).code).toBe(0);
  expect(await example.end(turn)).toContain('a photo first');
  expect(await refundsOf('1003')).toEqual([]);
  const { out } = await example.cli('run', 'desk', 'refund 9999 10.00 because why not');
  expect(out).toContain('there is no order 9999');
});
