import { z } from 'zod';
import { type ActivityGate, type PluginOptions } from '../../src/plugin';
import { readOptions } from '../../src/plugin/options';

const read = (gate: Record<string, ActivityGate>, more: Partial<PluginOptions> = {}) =>
  readOptions({ gate, ...more });
const parameters = z.object({ cents: z.int() });

describe('a gated activity', () => {
  it('is dangerous and unsafe, and people cannot change its arguments, unless it says otherwise', () => {
    const { names, gated } = read({ payOut: {} });
    expect(names).toEqual({ payOut: { caller: 'code' } });
    expect(gated.get('payOut')).toMatchObject({ hasSchema: false });
    expect(gated.get('payOut')?.toolFor()).toMatchObject({
      ...{ name: 'pay_out', safety: 'dangerous', effect: 'unsafe', noGrant: true },
    });
  });

  it.each([
    ['refundOrder', 'refund_order'],
    ['my-server-callTool', 'my_server_call_tool'],
    ['child:paysOut', 'pays_out'],
    ['HTTP', 'http'],
    ['42', 'call'],
  ])('%s is a tool %s', (name, tool) => {
    expect(
      read({ [name]: {} })
        .gated.get(name)
        ?.toolFor().name,
    ).toBe(tool);
  });

  it('is of the tool that its call names, where it says so', () => {
    const { gated } = read({ callTool: { from: { tool: 'name', arguments: 'input' } } });
    const [one, other] = ['payOut', 'pay_out'].map((name) => gated.get('callTool')?.toolFor(name));
    expect([one?.name, other?.name]).toEqual(['pay_out', 'pay_out']);
    expect(one?.digest).not.toBe(other?.digest);
  });

  it('that is safe is pure, and needs nobody', () => {
    expect(
      read({ look: { safety: 'safe' } })
        .gated.get('look')
        ?.toolFor(),
    ).toMatchObject({ effect: 'pure' });
  });
});

it.each<[string, Record<string, ActivityGate>, Partial<PluginOptions>, RegExp]>([
  ['a name of ours', { 'countersign.think': {} }, {}, /a name of Countersign cannot be gated/],
  ['two names with one tool', { payOut: {}, pay_out: {} }, {}, /two of `gate` have the tool pay_out/],
  [
    '`args` that the schema lacks',
    { pay: { parameters, args: ['cents', 'to'] } },
    {},
    /the schema has no `to`/,
  ],
  [
    '`args` and `from`',
    { pay: { args: ['a'], from: { tool: 'a', arguments: 'b' } } },
    {},
    /exclude each other/,
  ],
  ['a wrong safety', { pay: JSON.parse('{"safety":"risky"}') }, {}, /safety/],
  ['an option that there is not', { pay: JSON.parse('{"timeout":"3s"}') }, {}, /timeout/],
  ['a time that is none', {}, { before: 'soon' }, /before/],
])('%s is refused', (_, gate, more, message) => {
  expect(() => read(gate, more)).toThrow(
    expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(message) }),
  );
});

it('the time before which calls run without the gate is read', () => {
  expect(read({}, { before: '2026-01-01T00:00:00Z' }).before).toBe(Date.parse('2026-01-01T00:00:00Z'));
});
