import { Command } from 'commander';
import { asTyped, createContext, osUser, type GlobalOptions } from '../../src/cli/context';
import { addSharedOptions } from '../../src/cli/flags';
import { testScreen } from './support';

const context = (options: GlobalOptions) =>
  createContext({
    ...{ screen: testScreen(), env: {}, keyboard: undefined, exitWith: () => undefined },
    ...{ options: () => options, typed: (text) => text },
  });

describe('a command to type', () => {
  it.each<[string, GlobalOptions, string]>([
    ['the default server', {}, 'npx countersign inbox'],
    ['an address', { address: 'db:7233' }, 'npx countersign inbox --address db:7233'],
    [
      'everything',
      { address: 'a:1', namespace: 'n', profile: 'p', encryptionKeyFile: 'k.pem' },
      'npx countersign inbox --address a:1 --namespace n --profile p --encryption-key-file k.pem',
    ],
    ['a name that a shell would split', { namespace: 'a b' }, "npx countersign inbox --namespace 'a b'"],
    ['a timeout, which is not about the server', { timeout: '1s' }, 'npx countersign inbox'],
  ])('reaches %s again', (_, options, line) => {
    expect(context(options).command('inbox')).toBe(line);
  });
});

it.each([
  ['`countersign inbox` lists them.', '`npx countersign inbox` lists them.'],
  ['countersign show says how it ended', 'npx countersign show says how it ended'],
  [
    'the terminal that runs countersign shows a new one',
    'the terminal that runs countersign shows a new one',
  ],
  ['`npx countersign inbox`', '`npx countersign inbox`'],
  ['see /opt/countersign inbox', 'see /opt/countersign inbox'],
])('names commands as they are typed: %s', (sentence, typed) => {
  expect(asTyped(sentence, 'npx countersign', ['inbox', 'show'])).toBe(typed);
});

it('knows who decides', () => {
  expect(osUser()).not.toBe('');
});

describe('--json and --as', () => {
  const act = (...args: string[]) => {
    const screen = testScreen();
    const program = addSharedOptions(new Command()).exitOverride();
    const context = createContext({
      ...{ screen, env: {}, keyboard: undefined, exitWith: () => undefined },
      ...{ options: () => program.opts(), typed: (text) => text },
    });
    program.command('act <what>').action((what: string) => context.print({ what }, () => [`did ${what}`]));
    program.parse(args, { from: 'user' });
    return { printed: screen.printed, json: context.json, as: context.as };
  };

  it('may stand before the command and behind it', () => {
    const asked = { printed: ['{"what":"it"}'], json: true, as: 'ann' };
    expect(act('--json', '--as', 'ann', 'act', 'it')).toEqual(asked);
    expect(act('act', 'it', '--as', 'ann', '--json')).toEqual(asked);
  });

  it('are lines and the name on this machine without them', () => {
    expect(act('act', 'it')).toEqual({ printed: ['did it'], json: false, as: osUser() });
  });
});
