import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describeWithLisp, endImage } from '../support/lisp';
import { approveSeen } from '../cli/saw';
import { startExample, type RunningExample } from './start-example';

describeWithLisp('the example of a Lisp program', () => {
  let example: RunningExample;

  beforeAll(async () => {
    example = await startExample('lisp', 'PROGRAM');
  });

  afterAll(async () => {
    const images = join(example.folder, '..', 'countersign', 'lisp');
    for (const name of await readdir(images)) await endImage(join(images, name));
    await example.stop();
  });

  it('answers the question of the scenario without asking anybody', async () => {
    const { code, out } = await example.cli('run', 'lisper', 'What does the function `defun` do?');
    expect(code).toBe(0);
    expect(out).toMatch(/1\.1 +runs: describe_symbol symbol=defun package=common-lisp/);
    expect(out).toMatch(/describe_symbol: done\.\n +DEFUN \[macro\]\n +Documentation: Define a function/);
  });

  it('knows the program of its folder, and runs a form once it was approved', async () => {
    const { out } = await example.cli('run', 'lisper', 'what is shop:total');
    expect(out).toContain('What a customer pays for all ITEMS');
    const turn = await example.waiting('lisper', 'evaluate (shop:total (list 100 200))');
    expect((await example.cli('show', `${turn}/1.1`)).out).toContain('(shop:total (list 100 200))');
    expect((await approveSeen(example.cli, `${turn}/1.1`)).code).toBe(0);
    expect(await example.end(turn)).toContain('357');
  });
});
