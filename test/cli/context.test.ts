import { createContext, osUser, type GlobalOptions } from '../../src/cli/context';
import { testScreen } from './support';

const context = (options: GlobalOptions) =>
  createContext({ screen: testScreen(), env: {}, keyboard: undefined, options: () => options });

describe('a command to type', () => {
  it.each<[string, GlobalOptions, string]>([
    ['the default server', {}, 'countersign inbox'],
    ['an address', { address: 'db:7233' }, 'countersign inbox --address db:7233'],
    [
      'everything',
      { address: 'a:1', namespace: 'n', profile: 'p', encryptionKeyFile: 'k.pem' },
      'countersign inbox --address a:1 --namespace n --profile p --encryption-key-file k.pem',
    ],
    ['a name that a shell would split', { namespace: 'a b' }, "countersign inbox --namespace 'a b'"],
    ['a timeout, which is not about the server', { timeout: '1s' }, 'countersign inbox'],
  ])('reaches %s again', (_, options, line) => {
    expect(context(options).command('inbox')).toBe(line);
  });
});

it('knows who decides', () => {
  expect(osUser()).not.toBe('');
});
