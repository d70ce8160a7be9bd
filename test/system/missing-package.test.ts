import { missingPackage, notInstalled } from '../../src/system/missing-package';

const failure = (message: string, code = 'MODULE_NOT_FOUND'): Error =>
  Object.assign(new Error(message), { code });

describe('the package for whose lack an error was thrown', () => {
  it.each([
    ['required', failure("Cannot find module 'commander'\nRequire stack:\n- /a.js"), 'commander'],
    ['imported', failure("Cannot find package '@a/b' imported from /c.mjs", 'ERR_MODULE_NOT_FOUND'), '@a/b'],
    [
      'that the application has to name for Yarn',
      failure(
        "countersign tried to access @temporalio/client (a peer dependency) but it isn't provided by x",
      ),
      '@temporalio/client',
    ],
    [
      'that the application does not name',
      failure("Your application tried to access zod, but it isn't declared in your dependencies"),
      'zod',
    ],
    ['that is a file of ours', failure("Cannot find module './gone'"), undefined],
    ['of which another error speaks', new Error("Cannot find module 'commander'"), undefined],
    ['of which no error speaks', "Cannot find module 'commander'", undefined],
  ])('%s', (_, error, name) => {
    expect(missingPackage(error)).toBe(name);
  });
});

describe('what to do about it', () => {
  it('is one command for all that the application has to name', () => {
    const line = notInstalled('@temporalio/envconfig', undefined).hint;
    for (const peer of ['activity', 'client', 'common', 'envconfig', 'proto', 'worker', 'workflow'])
      expect(line).toContain(` @temporalio/${peer}@~1.24.0`);
    expect(line).toMatch(/`npm install \S.* protobufjs@\S+`/);
    expect(line).not.toContain('web-push');
  });

  it.each([
    ['web-push', /`npm install web-push@\S+`/],
    ['commander', /`npm install` again/],
  ])('is about %s alone', (name, line) => {
    expect(notInstalled(name, undefined).hint).toMatch(line);
  });
});
