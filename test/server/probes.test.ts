import { createReach, openProbePort, type ProbePort, readListenAddress } from '../../src/server/probes';
import { freePorts } from '../../src/engine/server-args';

let open: ProbePort | undefined;
afterEach(() => open?.close());

describe('an address', () => {
  it.each([
    ['9464', '127.0.0.1', 9464],
    ['localhost:1', '127.0.0.1', 1],
    ['0.0.0.0:65535', '0.0.0.0', 65535],
    ['[::1]:9464', '::1', 9464],
  ])('can be %s', (text, host, port) => {
    expect(readListenAddress(text, 'health')).toEqual({ host, port });
  });

  it.each(['', '0', '65536', 'example.com:9464', '127.0.0.1', ':9464', '[x]:1', '::1:9464', '9464/'])(
    'cannot be %j',
    (text) => {
      expect(() => readListenAddress(text, 'health')).toThrow(
        expect.objectContaining({
          code: 'config_invalid',
          message: `the address for health cannot be ${JSON.stringify(text)}`,
        }),
      );
    },
  );
});

describe('a port', () => {
  const paths = { '/health': () => ({ status: 200, text: 'ok\n' }) as const };

  it.each([
    ['GET', '/health', 200, 'ok\n'],
    ['GET', '/health?verbose', 200, 'ok\n'],
    ['HEAD', '/health', 200, ''],
    ['POST', '/health', 405, ''],
    ['GET', '/constructor', 404, ''],
    ['GET', '/', 404, ''],
  ])('answers %s %s with %d', async (method, path, status, text) => {
    const [port = 0] = await freePorts(1);
    open = await openProbePort(String(port), 'health', paths);
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { method });
    expect([answer.status, await answer.text()]).toEqual([status, text]);
  });

  it('that is taken is refused', async () => {
    const port = String((await freePorts(1))[0]);
    open = await openProbePort(port, 'health', paths);
    await expect(openProbePort(port, 'metrics', paths)).rejects.toMatchObject({
      code: 'config_invalid',
      message: `cannot listen on ${port} for metrics: the port is taken`,
    });
  });
});

describe('whether the server answers', () => {
  const connectionOf = (ask: () => Promise<unknown>) => {
    const asked = { times: 0 };
    const getSystemInfo = (): Promise<unknown> => {
      asked.times += 1;
      return ask();
    };
    const withDeadline = (_until: number, work: () => Promise<unknown>): Promise<unknown> => work();
    const connection = Object.assign(Object.create(null), {
      withDeadline,
      workflowService: { getSystemInfo },
    });
    return { asked, reach: createReach(() => connection) };
  };

  it('is asked once for probes that come together', async () => {
    const { asked, reach } = connectionOf(() => Promise.resolve({}));
    expect(await Promise.all([reach(), reach(), reach()])).toEqual([true, true, true]);
    expect(asked.times).toBe(1);
  });

  it('is denied where asking fails', async () => {
    const { reach } = connectionOf(() => Promise.reject(new Error('gone')));
    expect(await reach()).toBe(false);
  });
});
