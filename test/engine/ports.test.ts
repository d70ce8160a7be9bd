import { createServer } from 'node:net';
import { freePorts, isFree } from '../../src/engine/ports';

it('finds ports that differ', async () => {
  const ports = await freePorts(8);
  expect(new Set(ports).size).toBe(8);
});

it('tells a free port from a taken one', async () => {
  const [port = 0] = await freePorts(1);
  expect(await isFree(port)).toBe(true);
  const holder = createServer();
  await new Promise<void>((resolve) => holder.listen(port, '127.0.0.1', resolve));
  expect(await isFree(port)).toBe(false);
  await new Promise((resolve) => holder.close(resolve));
});
