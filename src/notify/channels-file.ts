import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { mistakeLine, readYaml } from '../system/yaml';
import { CountersignError } from '../contract/errors';
import { isSecureUrl } from '../system/loopback';
import { readTextFile } from '../system/named-files';

const MOST_CHANNELS = 20;
const MOST_ADDRESSES = 50;

const path = z.string().min(1);
const variable = z.string().regex(/^[A-Z_][A-Z0-9_]*$/, 'must be a name in capitals, such as MAIL_URL');
const own = z.url({
  protocol: /^https?$/,
  error: 'must be an address such as https://inbox.example.org',
  // The check for https reads the address as a URL.
  abort: true,
});
/**
 * An https address. Over plain http, anybody on the way could change the content. Plain http is allowed only on this
 * machine.
 */
const safe = own.refine(
  (url) => isSecureUrl(new URL(url)),
  'must begin with https://, but for this machine itself',
);

const webhook = z.strictObject({
  kind: z.literal('webhook'),
  url: own,
  secretFile: path.optional(),
  secretEnv: variable.default('COUNTERSIGN_NOTIFY_SECRET'),
});

const command = z.strictObject({ kind: z.literal('command'), run: z.string().min(1) });

const mail = z.strictObject({
  kind: z.literal('mail'),
  /** `smtps://user:password@host:465` or `smtp://…:587`. */
  urlFile: path.optional(),
  urlEnv: variable.default('COUNTERSIGN_SMTP_URL'),
  tls: z.enum(['required', 'none']).default('required'),
  caFile: path.optional(),
  from: z.email('must be an address'),
  to: z.union([
    z.literal('voters'),
    z.array(z.email('must be an address')).min(1, 'must not be empty').max(MOST_ADDRESSES),
  ]),
});

const slack = z.strictObject({
  kind: z.literal('slack'),
  /** The token of the bot, `xoxb-…`. */
  tokenFile: path.optional(),
  tokenEnv: variable.default('COUNTERSIGN_SLACK_TOKEN'),
  /** The app token, `xapp-…`. Without it, messages have no buttons. */
  appTokenFile: path.optional(),
  appTokenEnv: variable.default('COUNTERSIGN_SLACK_APP_TOKEN'),
  /** The key of a web inbox. It signs the name of the person who clicked. */
  inboxKey: path.optional(),
  /** The address of Slack's Web API. */
  api: safe.default('https://slack.com/api/'),
  to: z.union([
    z.literal('voters'),
    z
      .array(z.string().regex(/^[CG][A-Z0-9]{1,20}$/, 'must be the id of a channel, such as C02ABCDEF'))
      .min(1, 'must not be empty')
      .max(MOST_ADDRESSES),
  ]),
});

const webPush = z.strictObject({
  kind: z.literal('web-push'),
  /** The key that signs messages, as `countersign web push-key` prints it. */
  publicKey: z.string().regex(/^[\w-]{87}$/, 'must be what `countersign web push-key` prints'),
  keyFile: path.optional(),
  keyEnv: variable.default('COUNTERSIGN_PUSH_KEY'),
  /** The address to which a push service writes when our messages have a problem. */
  subject: z
    .string()
    .regex(/^(mailto:[^@\s]+@[^@\s]+|https:\/\/\S+)$/, 'must begin with mailto: or https://'),
  /** The folder in which the web inbox keeps the browsers. */
  subscriptions: path.optional(),
  /** Push services that may be reached although their addresses are private. */
  privateHosts: z.array(z.string().min(1)).max(MOST_ADDRESSES).default([]),
});

const fileSchema = z.strictObject({
  /** The address at which people open the web inbox. */
  page: safe.optional(),
  approvers: path.optional(),
  channels: z
    .record(
      z.string().regex(/^[A-Za-z][A-Za-z0-9_-]{0,39}$/, 'must be a name of letters and digits'),
      z.discriminatedUnion('kind', [webhook, command, mail, slack, webPush]),
    )
    .refine((all) => Object.keys(all).length > 0, 'must not be empty')
    .refine((all) => Object.keys(all).length <= MOST_CHANNELS, `must be at most ${MOST_CHANNELS}`),
});

/** A channels file with its defaults filled in. Its paths are relative to the folder of the file. */
export type ChannelsFile = z.output<typeof fileSchema>;
export type ChannelSettings = ChannelsFile['channels'][string];
/** The settings of one kind of channel. */
export type SettingsOf<K extends ChannelSettings['kind']> = Extract<ChannelSettings, { kind: K }>;

/**
 * Reads and checks a channels file.
 *
 * @throws CountersignError `config_invalid` with each mistake, its line and column. `file_failed` if the file cannot be
 * read.
 */
export async function loadChannels(file: string): Promise<ChannelsFile> {
  const read = readYaml<ChannelsFile>(await readTextFile(file), fileSchema);
  const mistakes = read.ok
    ? missingIn(read.file.content).map(({ path: at, message }) => read.file.mistakeAt(at, message))
    : read.mistakes;
  if (!read.ok || mistakes.length > 0)
    throw new CountersignError(
      'config_invalid',
      mistakes.map((one) => mistakeLine(file, one)).join('\n'),
      'See docs/notifications.md for each kind of channel.',
    );
  return withPaths(read.file.content, dirname(resolve(file)));
}

function missingIn({ page, approvers, channels }: ChannelsFile): { path: string[]; message: string }[] {
  const browsers = Object.entries(channels).filter(([, { kind }]) => kind === 'web-push');
  return Object.entries(channels).flatMap(([name, channel]) => {
    if (channel.kind === 'web-push') return missingForPush(name, { approvers, first: browsers[0]?.[0] });
    if (channel.kind !== 'mail' && channel.kind !== 'slack') return [];
    const at = ['channels', name];
    return [
      ...(page === undefined ? [{ path: at, message: `\`${name}\` needs \`page\`, for its links` }] : []),
      ...(channel.to === 'voters' && approvers === undefined
        ? [{ path: [...at, 'to'], message: '`voters` needs `approvers`, the file that names them' }]
        : []),
      ...(channel.kind === 'slack' && channel.inboxKey !== undefined && approvers === undefined
        ? [{ path: [...at, 'inboxKey'], message: '`inboxKey` needs `approvers`, the file that lists it' }]
        : []),
    ];
  });
}

function missingForPush(
  name: string,
  { approvers, first }: { approvers: string | undefined; first: string | undefined },
): { path: string[]; message: string }[] {
  const path = ['channels', name];
  if (first !== name) return [{ path, message: 'there can be one channel of web push, and this is another' }];
  return approvers === undefined
    ? [{ path, message: `\`${name}\` needs \`approvers\`, the file that says who may decide` }]
    : [];
}

const PATHS = [
  'approvers',
  'secretFile',
  'urlFile',
  'caFile',
  'tokenFile',
  'appTokenFile',
  'inboxKey',
  'keyFile',
  'subscriptions',
];

function withPaths(file: ChannelsFile, folder: string): ChannelsFile {
  const placed = <T extends object>(one: T): T => ({
    ...one,
    ...Object.fromEntries(
      Object.entries(one).flatMap(([name, value]) =>
        PATHS.includes(name) && typeof value === 'string' ? [[name, resolve(folder, value)]] : [],
      ),
    ),
  });
  const channels = Object.entries(file.channels).map(([name, one]) => [name, placed(one)] as const);
  return { ...placed(file), channels: Object.fromEntries(channels) };
}
