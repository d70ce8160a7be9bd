import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readSecretText } from '../../src/notify/secrets';
import { scratchDirectory } from '../support/scratch';

const directory = scratchDirectory();
const file = (text: string, mode = 0o600): string => {
  const path = join(directory(), 'secret');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return path;
};

it('is read from the file first, then from the environment', () => {
  const env = { TOKEN: ' theirs\n' };
  expect(readSecretText({ file: file('mine\n'), variable: 'TOKEN' }, env)).toBe('mine');
  expect(readSecretText({ file: undefined, variable: 'TOKEN' }, env)).toBe('theirs');
  expect(readSecretText({ file: undefined, variable: 'OTHER' }, env)).toBeUndefined();
  expect(readSecretText({ file: file(' '), variable: 'TOKEN' }, env)).toBeUndefined();
});

it('is not read from a file that others can read, and is not repeated', () => {
  const read = (): unknown => readSecretText({ file: file('mine', 0o640), variable: 'TOKEN' }, {});
  expect(read).toThrow(/can be read or changed by others/);
  expect(read).not.toThrow(/mine/);
});
