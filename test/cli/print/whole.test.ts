import { wholeText } from '../../../src/cli/print/whole';
import { request } from '../support';

const SMALL = { characters: 30, lines: 2, indent: 0 };

it('shows as much as there is room for, and says where it is cut', () => {
  expect(wholeText(request(), SMALL)).toEqual({ lines: ['{"amount":10,"to":"ann"}'], isWhole: true });
  const long = wholeText(request({ arguments: { to: 'x'.repeat(40) } }), SMALL);
  expect(long).toEqual({ lines: [`{"to":"${'x'.repeat(23)}`, '… (cut)'], isWhole: false });
  expect(wholeText(request({ preview: { text: 'pays' } }), SMALL).isWhole).toBe(false);
});
