import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startExample, type RunningExample } from './start-example';

let example: RunningExample;

beforeAll(async () => {
  example = await startExample('code', 'PROJECT');
});

afterAll(() => example.stop());

it('answers a question about the project of its folder without asking anybody', async () => {
  await mkdir(example.folder, { recursive: true });
  await writeFile(join(example.folder, 'tsconfig.json'), '{"compilerOptions":{"types":[]}}');
  await writeFile(
    join(example.folder, 'shop.ts'),
    '/** What a customer pays. */\nexport function total(items: number[]): number {\n  return items.length;\n}\n',
  );
  const { code, out } = await example.cli('run', 'reader', 'What does the function `total` do?');
  expect(code).toBe(0);
  expect(out).toMatch(/1\.1 +runs: describe_code_symbol symbol=total/);
  expect(out).toMatch(
    /total: function, exported, shop\.ts:2:17\n +function total\(items: number\[\]\): number/,
  );
  expect(out).toContain('What a customer pays.');
});
