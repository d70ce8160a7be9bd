import { activeTrace, openTraces, turnSpanIds } from '../../src/system/traces';

const place = { namespace: 'default', turn: 'turn-1' };

describe('without an OpenTelemetry SDK', () => {
  it('does the work, and hands on what it gives and throws', async () => {
    const traces = await openTraces();
    const span = { name: 'chat m', facts: { 'gen_ai.request.model': 'm', nothing: undefined } };
    const work = traces?.within(place, span, (open) => {
      open.add({ one: 1 });
      open.fail('timeout');
      return Promise.resolve(7);
    });
    await expect(work).resolves.toBe(7);
    const fails = traces?.within(place, span, () => Promise.reject(new Error('it broke')));
    await expect(fails).rejects.toThrow('it broke');
  });

  it.each([
    ['no trace', undefined],
    ['a trace', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
    ['a trace that is none', 'x'.repeat(300)],
  ])('writes nothing, and does not mind, for a turn with %s', async (_, trace) => {
    const traces = await openTraces();
    const past = { name: 'turn', facts: {}, since: 5, at: 1, error: 'failed', isTurn: true };
    expect(() => traces?.record({ ...place, trace }, past)).not.toThrow();
  });

  it('has no active span', async () => {
    await expect(activeTrace()).resolves.toBeUndefined();
  });
});

it('draws ids that OpenTelemetry takes', () => {
  const ids = turnSpanIds();
  expect(ids.generateTraceId()).toMatch(/^[0-9a-f]{32}$/);
  expect(ids.generateSpanId()).toMatch(/^[0-9a-f]{16}$/);
  expect(ids.generateSpanId()).not.toBe(ids.generateSpanId());
});
