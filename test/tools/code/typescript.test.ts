import { join } from 'node:path';
import { findTypeScript } from '../../../src/tools/code/typescript';
import { makeFolder } from './support';

describe('a TypeScript that cannot be used is refused', () => {
  const folder = makeFolder({
    'old/package.json': '{"name":"typescript","version":"4.9.5","main":"lib/typescript.js"}',
    'old/lib/typescript.js': '',
    'new/package.json': '{"name":"typescript","version":"7.0.2","main":"lib/typescript.js"}',
    'new/lib/typescript.js': "require('fs').writeFileSync(__dirname + '/ran', '')",
    'alone.js': '',
  });

  it.each([
    ['that is not there', 'typescript-of-nobody', 'the package "typescript-of-nobody" is not installed'],
    ['that is too old', join(folder, 'old'), 'is version 4.9.5, which has no language service for it'],
    ['that is too new', join(folder, 'new'), 'is version 7.0.2, which has no language service for it'],
    ['that is another file', join(folder, 'alone.js'), 'is version unknown'],
  ])('%s', (_case, typescript, why) => {
    const make = (): unknown => findTypeScript(typescript);
    expect(make).toThrow(why);
    expect(make).toThrow(
      expect.objectContaining({
        code: 'not_installed',
        hint: expect.stringContaining('npm install typescript@6'),
        data: { name: typescript },
      }),
    );
  });
});
