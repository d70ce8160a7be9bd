import fc from 'fast-check';
import { linesOfStream } from '../../src/audit/read';

const split = async (chunks: Buffer[]) => {
  const lines: string[] = [];
  let cut: string | undefined;
  const stream = (async function* () {
    yield* chunks;
  })();
  for await (const some of linesOfStream(stream)) {
    lines.push(...some.lines.map(String));
    cut = some.cut?.toString();
  }
  return { lines, cut };
};

it('gives the same lines however the bytes come', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n') });
  await fc.assert(
    fc.asyncProperty(fc.array(text), async (parts) => {
      const whole = parts.join('').split('\n');
      const last = whole.pop() ?? '';
      const found = await split(parts.filter((part) => part !== '').map((part) => Buffer.from(part)));
      expect(found).toEqual({ lines: whole, cut: last === '' ? undefined : last });
    }),
  );
});

it('gives up on what has no lines', async () => {
  const endless = Array.from({ length: 17 }, () => Buffer.alloc(1024 * 1024));
  await expect(split(endless)).rejects.toMatchObject({ code: 'audit_broken' });
});
