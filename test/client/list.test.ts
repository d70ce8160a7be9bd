import { quoted } from '../../src/client/list';

test.each([
  ['plain', "'plain'"],
  ["it's", "'it\\'s'"],
  ['back\\slash', "'back\\\\slash'"],
  ["' OR 1=1 --", "'\\' OR 1=1 --'"],
])('%s', (text, expected) => expect(quoted(text)).toBe(expected));
