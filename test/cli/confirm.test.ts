import { PassThrough } from 'node:stream';
import { confirm } from '../../src/cli/confirm';

const ask = async (typed: string | null): Promise<{ said: boolean; shown: string }> => {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const said = confirm('Reset t-1?', { input, output });
  if (typed === null) input.end();
  else input.write(typed);
  return { said: await said, shown: String(output.read()) };
};

test.each([
  ['y\n', true],
  ['Yes\n', true],
  [' y \n', true],
  ['n\n', false],
  ['\n', false],
  ['yesterday\n', false],
  [null, false],
])('%j is taken as %s', async (typed, expected) => {
  const { said, shown } = await ask(typed);
  expect(said).toBe(expected);
  expect(shown).toContain('Reset t-1? [y/N] ');
});
