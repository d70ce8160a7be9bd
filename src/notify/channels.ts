import { readFile } from 'node:fs/promises';
import type { Countersign } from '../client';
import { errorMessage, usageError } from '../contract/errors';
import type { ChannelSettings, ChannelsFile, SettingsOf } from './channels-file';
import type { Notice, Receiver } from './notices';
import { createCommand, createWebhook, readSecret } from './webhook-and-command';
import { readSecretText } from './secrets';
import { requirePackage } from '../system/missing-package';
import { votersOn } from './voters';

/** Everything that is needed to open channels. */
interface ChannelParts {
  file: ChannelsFile;
  env: NodeJS.ProcessEnv;
  client: Pick<Countersign, 'view'>;
  /** The parts of the client that take people's answers from a channel. Absent: answers are not taken. */
  decider?: Pick<Countersign, 'view' | 'decide' | 'placeOf'>;
  /**
   * The file in which a channel keeps its messages, beside the file of deliveries. Absent: the messages are kept only
   * in memory.
   */
  postsFile?: string;
  /** The person who gets a test message if a channel notifies voters. */
  tester?: string;
  warn(line: string): void;
}

/**
 * Opens one channel of a file. It reads the channel's secrets, but does not connect.
 *
 * @throws CountersignError `usage` for a secret that is missing or cannot be read, and the errors of `loadApprovers`.
 */
export async function openChannel(settings: ChannelSettings, parts: ChannelParts): Promise<Receiver> {
  switch (settings.kind) {
    case 'webhook':
      return createWebhook(settings.url, readSecret(settings.secretFile, parts.env, settings.secretEnv));
    case 'command':
      return createCommand(settings.run, withoutSecrets(parts));
    case 'mail':
      return openMail(settings, parts);
    case 'slack':
      return openSlackChannel(settings, parts);
    case 'web-push':
      return openPush(settings, parts);
  }
}

async function openMail(settings: SettingsOf<'mail'>, parts: ChannelParts): Promise<Receiver> {
  const { urlFile, urlEnv, caFile, tls, from, to } = settings;
  const url = readSecretText({ file: urlFile, variable: urlEnv }, parts.env);
  if (url === undefined)
    throw usageError('nothing says where the mail server is', `Set ${urlEnv}, or name a file with urlFile.`);
  requirePackage('nodemailer');
  // Loaded here, so that no other channel waits for it.
  const { createMail } = await import('./mail.js');
  const ca = caFile === undefined ? undefined : await readCertificates(caFile);
  const targetsOf = await targetsFor(to, parts, 'mail');
  return createMail({ url, tls, from, page: parts.file.page ?? '', targetsOf, ca });
}

async function openSlackChannel(settings: SettingsOf<'slack'>, parts: ChannelParts): Promise<Receiver> {
  const { tokenFile, tokenEnv, appTokenFile, appTokenEnv, inboxKey, api, to } = settings;
  const { env, file, client, decider, postsFile, warn } = parts;
  const token = readSecretText({ file: tokenFile, variable: tokenEnv }, env);
  if (token === undefined)
    throw usageError('nothing says the token for Slack', `Set ${tokenEnv}, or name a file with tokenFile.`);
  const appToken = readSecretText({ file: appTokenFile, variable: appTokenEnv }, env);
  const { createSlack } = await import('./slack.js');
  const answers =
    decider === undefined || file.approvers === undefined
      ? undefined
      : await openAnswers({ approvers: file.approvers, inboxKey, decider, warn });
  return createSlack({
    api,
    token,
    page: file.page ?? '',
    client,
    note: warn,
    targetsOf: await targetsFor(to, parts, 'slack'),
    appToken,
    postsFile,
    answers,
  });
}

async function openPush(settings: SettingsOf<'web-push'>, parts: ChannelParts): Promise<Receiver> {
  const { keyFile, keyEnv, publicKey, subject } = settings;
  const { env, file, client, postsFile, tester, warn } = parts;
  const privateKey = readSecretText({ file: keyFile, variable: keyEnv }, env);
  if (privateKey === undefined)
    throw usageError(
      'nothing says the key that web push is signed with',
      `Set ${keyEnv}, or name a file with keyFile.`,
    );
  const { createPush } = await import('./push.js');
  const { openBrowsers } = await import('./browsers.js');
  const { openApprovers } = await import('../authority/rules/current-file.js');
  const source = await openApprovers({ file: file.approvers ?? '', warn });
  return createPush({
    keys: { publicKey, privateKey, subject },
    ...openBrowsers(settings, env),
    client,
    approvers: () => source.current(),
    note: warn,
    postsFile,
    tester,
  });
}

interface AnswerParts extends Pick<ChannelParts, 'warn'> {
  approvers: string;
  inboxKey: string | undefined;
  decider: NonNullable<ChannelParts['decider']>;
}

/** The people who may answer, and the key that signs their names. */
async function openAnswers({ approvers: file, inboxKey, decider: client, warn }: AnswerParts) {
  const { openApprovers } = await import('../authority/rules/current-file.js');
  const source = await openApprovers({ file, warn });
  const approvers = () => source.current();
  const parts = { client, approvers };
  if (inboxKey === undefined) return parts;
  const { inboxSigner, readInboxKey } = await import('../authority/signatures/inbox-key.js');
  const key = readInboxKey(inboxKey);
  const { inboxKeys } = await source.current();
  if (!inboxKeys.some(({ fingerprint }) => fingerprint === key.fingerprint))
    warn(`${file} does not list the key in ${inboxKey}, so no click counts as signed in.`);
  return { ...parts, signer: inboxSigner({ key, approvers: source }) };
}

async function readCertificates(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw usageError(`the certificates in ${file} cannot be read: ${errorMessage(error)}`);
  }
}

/** Returns the function that finds the receivers of a notice: fixed addresses, or the people who may decide. */
async function targetsFor(
  to: 'voters' | readonly string[],
  { file: { approvers: file = 'approvers.yaml' }, client, tester, warn }: ChannelParts,
  by: 'mail' | 'slack',
): Promise<(notice: Notice) => Promise<readonly string[]>> {
  if (to !== 'voters') return () => Promise.resolve(to);
  const { openApprovers } = await import('../authority/rules/current-file.js');
  const source = await openApprovers({ file, warn });
  const approvers = () => source.current();
  return (notice) => votersOn(notice, { approvers, client, by, tester });
}

/** The environment for a command, without the secrets of the other channels. */
function withoutSecrets({ file, env }: ChannelParts): NodeJS.ProcessEnv {
  const names = Object.values(file.channels).flatMap((one) =>
    Object.entries(one).flatMap(([name, value]) => (name.endsWith('Env') ? [String(value)] : [])),
  );
  return Object.fromEntries(Object.entries(env).filter(([name]) => !names.includes(name)));
}
