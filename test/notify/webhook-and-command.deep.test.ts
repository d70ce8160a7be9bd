import { createHmac } from 'node:crypto';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createCommand, createWebhook, readSecret } from '../../src/notify/webhook-and-command';
import { scratchDirectory } from '../support/scratch';
import { isAlive } from '../support/process-worker';
import { startPostServer, usePostServer } from '../cli/receiver';
import { never, notice } from './support';
import { until } from '../support/until';

const directory = scratchDirectory();
const secret = Buffer.from('0123456789abcdef0123456789abcdef');

const server = usePostServer();

describe('a webhook', () => {
  it('is signed as Standard Webhooks has it', async () => {
    await createWebhook(server().url, secret).deliver(notice('a'), never);
    const [post] = server().posts;
    const id = post?.headers['webhook-id'];
    const timestamp = post?.headers['webhook-timestamp'];
    const signature = createHmac('sha256', secret)
      .update(`${id}.${timestamp}.${post?.body}`)
      .digest('base64');
    expect(post?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-signature': `v1,${signature}`,
    });
    expect(id).toBe('msg_a');
    expect(Math.abs(Number(timestamp) - Date.now() / 1000)).toBeLessThan(60);
    expect(JSON.parse(post?.body ?? '')).toEqual(notice('a'));
  });

  it.each<[number, RegExp]>([
    [500, /it answered 500/],
    [404, /it answered 404/],
    [302, /it answered 302/],
  ])('that answers %d did not take it', async (status, message) => {
    server().script(status);
    await expect(createWebhook(server().url, secret).deliver(notice('a'), never)).rejects.toThrow(message);
    expect(server().posts).toHaveLength(1);
  });

  it('that is not there did not take it, and is named without its path', async () => {
    const gone = await startPostServer();
    await gone.close();
    const webhook = createWebhook(gone.url, secret);
    expect(webhook.name).toBe(new URL(gone.url).host);
    await expect(webhook.deliver(notice('a'), never)).rejects.toThrow(/could not be reached/);
    await expect(webhook.deliver(notice('a'), never)).rejects.not.toThrow(/s3cret/);
  });

  it('is left when the watching ends', async () => {
    server().script('hang');
    const stop = new AbortController();
    const delivering = createWebhook(server().url, secret).deliver(notice('a'), stop.signal);
    await until('the post', () => server().posts.length === 1);
    stop.abort();
    await expect(delivering).rejects.toThrow();
  });
});

describe('a command', () => {
  const env = (): NodeJS.ProcessEnv => ({ PATH: process.env['PATH'], OUT: join(directory(), 'out') });

  it('reads the notice on stdin', async () => {
    await createCommand('cat > "$OUT"', env()).deliver(notice('a'), never);
    expect(JSON.parse(readFileSync(env()['OUT'] ?? '', 'utf8'))).toEqual(notice('a'));
  });

  it.each([
    ['exit 3', /ended with 3/],
    ['kill -9 $$', /ended with SIGKILL/],
    ['/no/such/command', /ended with 127/],
  ])('%s did not take it', async (command, message) => {
    await expect(createCommand(command, env()).deliver(notice('a'), never)).rejects.toThrow(message);
  });

  it('need not read it', async () => {
    await expect(createCommand('true', env()).deliver(notice('a'), never)).resolves.toBeUndefined();
  });

  it('is ended with all it started when the watching ends', async () => {
    const stop = new AbortController();
    const delivering = createCommand('sleep 600 & echo $! > "$OUT"; wait', env()).deliver(
      notice('a'),
      stop.signal,
    );
    const pid = Number(await until('the command', () => text(env()['OUT'] ?? '')));
    stop.abort();
    await expect(delivering).rejects.toThrow(/SIGKILL/);
    await until('its child to be gone', () => !isAlive(pid) || isZombie(pid));
  });
});

describe('the secret', () => {
  const file = (text: string, mode = 0o600): string => {
    const path = join(directory(), 'secret');
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  };

  it.each([
    ['whsec_MDEyMzQ1Njc4OWFiY2RlZg==', '0123456789abcdef'],
    ['a text that is long enough\n', 'a text that is long enough'],
  ])('%j', async (text, bytes) => {
    expect(readSecret(file(text), {}).toString()).toBe(bytes);
    expect(readSecret(undefined, { COUNTERSIGN_NOTIFY_SECRET: text }).toString()).toBe(bytes);
    expect(readSecret(undefined, { MINE: text }, 'MINE').toString()).toBe(bytes);
  });

  it.each<[string, () => string | undefined, RegExp]>([
    ['none', () => undefined, /needs a secret/],
    ['an empty one', () => file(''), /needs a secret/],
    ['a short one', () => file('short'), /under 16 bytes/],
    ['a missing file', () => join(directory(), 'gone'), /does not exist/],
    ['a file that others can read', () => file('a text that is long enough', 0o644), /changed by others/],
  ])('is refused: %s', (_name, path, message) => {
    expect(() => readSecret(path(), {})).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(message) }),
    );
  });
});

function text(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

function isZombie(pid: number): boolean {
  return / Z /.test(text(`/proc/${pid}/stat`) ?? ' Z ');
}
