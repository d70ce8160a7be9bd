import type { Command } from 'commander';
import { errnoOf, errorMessage, usageError } from '../../contract/errors';
import { createWhole } from '../../system/files';
import { type Context, osUser } from '../context';
import { EXIT } from '../exit-codes';
import type { ChannelSettings, ChannelsFile } from '../../notify/channels-file';
import { CHANNELS_FILE, testNotice } from '../../notify/notices';
import { makePushKeys } from '../../notify/push-keys';
import { escapeText } from '../../contract/text/escape';
import { widthOf } from '../../contract/text/columns';

interface TestOptions {
  channels: string;
  to?: string;
}

/** The result of a channel's test. */
interface TestResult {
  channel: string;
  kind: ChannelSettings['kind'];
  state: 'ok' | 'error';
  /** In words. */
  detail: string;
}

/** Adds the commands `notify test` and `notify keys`. */
export function addNotify(program: Command, context: Context): void {
  const command = program.command('notify').description('channels that notices are sent over');
  command
    .command('test [channel]')
    .description('send a test over each channel of a file, or over one, and say how that went')
    .option('--channels <file>', 'the file of channels', CHANNELS_FILE)
    .option('--to <person>', 'who gets the test if a channel reaches voters (default: you)')
    .action((channel: string | undefined, options: TestOptions) => test(channel, options, context));
  command
    .command('keys <file>')
    .description('make the key that signs web push messages, and write the secret key to a new file')
    .action((file: string) => makeKeys(file, context));
}

async function makeKeys(file: string, { screen, json }: Context): Promise<void> {
  const { publicKey, privateKey } = makePushKeys();
  try {
    await createWhole(file, `${privateKey}\n`);
  } catch (error) {
    const isThere = errnoOf(error) === 'EEXIST';
    throw usageError(
      isThere ? `${file} is there already` : `the key cannot be kept in ${file}: ${errorMessage(error)}`,
      isThere ? 'Browsers are bound to their key, so it is not replaced. Name another file.' : undefined,
    );
  }
  if (json) return screen.json({ publicKey, keyFile: file });
  screen.lines([
    `The secret key is in ${escapeText(file)}, which only you can read. Add this to ${CHANNELS_FILE}:`,
    '',
    '  browsers:',
    '    kind: web-push',
    `    publicKey: ${publicKey}`,
    `    keyFile: ${escapeText(file)}`,
    '    subject: mailto:you@example.org',
  ]);
}

async function test(only: string | undefined, options: TestOptions, context: Context): Promise<void> {
  const { screen } = context;
  const { loadChannels } = await import('../../notify/channels-file.js');
  const file = await loadChannels(options.channels);
  const channels = Object.entries(file.channels).filter(([name]) => only === undefined || name === only);
  if (channels.length === 0)
    throw usageError(
      `${options.channels} has no channel ${only ?? ''}`,
      `It has ${Object.keys(file.channels).join(', ')}.`,
    );
  const results = await Promise.all(
    channels.map((channel) => testChannel(channel, { file, to: options.to ?? osUser(), context })),
  );
  context.print(results, () =>
    resultLines(results).map((line) => (line.isFine ? line.text : screen.style.bad(line.text))),
  );
  if (results.some(({ state }) => state === 'error')) context.exitWith(EXIT.failed);
}

async function testChannel(
  [channel, settings]: [string, ChannelSettings],
  { file, to, context: { env, screen } }: { file: ChannelsFile; to: string; context: Context },
): Promise<TestResult> {
  const { kind } = settings;
  const { openChannel } = await import('../../notify/channels.js');
  const warn = (line: string): void => screen.note(escapeText(line));
  // A test does not concern a turn, so the server is not asked.
  const client = { view: () => Promise.reject(new Error('a test looks at no turn')) };
  const { signal } = new AbortController();
  try {
    const receiver = await openChannel(settings, { file, env, client, tester: to, warn });
    const notice = testNotice(Date.now());
    const targets = (await receiver.targetsOf?.(notice)) ?? [undefined];
    for (const target of targets) await receiver.deliver(notice, signal, target);
    const count = targets.length === 1 ? '' : `, ${targets.length} times`;
    return { channel, kind, state: 'ok', detail: `sent to ${receiver.name}${count}` };
  } catch (error) {
    return { channel, kind, state: 'error', detail: errorMessage(error) };
  }
}

/** Results as aligned lines, one each. */
export function resultLines(results: readonly TestResult[]): { text: string; isFine: boolean }[] {
  const width = (of: (result: TestResult) => string): number =>
    Math.max(0, ...results.map((one) => widthOf(of(one))));
  const [named, kinds] = [width(({ channel }) => channel), width(({ kind }) => kind)];
  return results.map(({ channel, kind, state, detail }) => ({
    text: `${channel.padEnd(named)}  ${kind.padEnd(kinds)}  ${state.padEnd(5)}  ${escapeText(detail)}`,
    isFine: state === 'ok',
  }));
}
