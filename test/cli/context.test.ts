import { asTyped, createContext, osUser, type GlobalOptions } from '../../src/cli/context';
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
