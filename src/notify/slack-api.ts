import type { ModalView } from '@slack/types';
import type { WebClient, WebClientOptions } from '@slack/web-api';
import { z } from 'zod';
import { defined } from '../contract/defined';
import { CountersignError } from '../contract/errors';
import { outgoingAgent } from '../system/proxies';
import type { Socket } from './slack-socket';
import type { SlackText } from './slack-text';
import { SECOND } from '../contract/limits';
import { notifyFailure } from './notices';
import { installedVersion } from '../system/installed-version';
import { inWords } from './slack-errors';
import type { PostPlace } from './slack-posts';

/** The addresses and tokens with which Slack is reached. */
export interface SlackAccess {
  /** The address of the Web API. */
  api: string;
  /** The token of the bot. */
  token: string;
  /** The token of the app. Absent: clicks are not received. */
  appToken?: string;
}

/** The workspace and the bot to which the token belongs. */
interface SlackIdentity {
  team: string;
  teamName: string;
  bot: string;
  name: string;
}

/** A message that may have been posted. */
interface Sought {
  target: string;
  notice: string;
  /** The earliest time of the message, in milliseconds since 1970. */
  since: number;
}

/** The methods of Slack that are used. All functions reject with `failed`, and none tries a second time. */
export interface SlackApi {
  identify(): Promise<SlackIdentity>;
  post(target: string, message: SlackText, notice: string): Promise<PostPlace>;
  update(place: PostPlace, message: SlackText): Promise<void>;
  /** Looks for the message. Undefined if there is no such message, or if the token may not look. */
  find(sought: Sought): Promise<PostPlace | undefined>;
  /** Shows a message to one person only. */
  whisper(at: { channel: string; user: string }, message: SlackText): Promise<void>;
  openView(trigger: string, view: ModalView): Promise<void>;
  /** Whether a socket could be opened. */
  checkSocket(): Promise<void>;
  /** A connection for clicks. It is not open yet. */
  openSocket(): Socket;
}

const CALL_MS = 15_000;
const PAGES = 5;
/** The largest difference between our clock and Slack's. */
const CLOCK_MS = 10 * 60 * SECOND;
const EVENT = 'countersign_notice';

/** The packages that only this channel needs, and their major versions. */
const PACKAGES = { '@slack/web-api': '7', '@slack/socket-mode': '2' } as const;

/** @throws CountersignError `not_installed`. */
function requirePackages() {
  const missing = Object.entries(PACKAGES).filter(
    ([name, major]) => installedVersion(name)?.startsWith(`${major}.`) !== true,
  );
  if (missing.length === 0) return;
  const wanted = missing.map(([name, major]) => `${name}@${major}`).join(' ');
  throw new CountersignError(
    'not_installed',
    `a channel to Slack needs ${wanted}`,
    `Run: npm install ${wanted}`,
  );
}

const nothing = (): void => undefined;

/** Logs nothing, because the packages would log whole requests. */
const SILENT = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  setLevel: nothing,
  setName: nothing,
};

/**
 * Makes the functions that talk to Slack. No connection is opened yet.
 *
 * @throws CountersignError `not_installed`.
 */
export async function openSlack(access: SlackAccess): Promise<SlackApi> {
  requirePackages();
  const { WebClient, LogLevel } = await import('@slack/web-api');
  const { SocketModeClient } = await import('@slack/socket-mode');
  const logger = { ...SILENT, getLevel: () => LogLevel.ERROR };
  const options: WebClientOptions = {
    slackApiUrl: access.api.replace(/\/*$/, '/'),
    timeout: CALL_MS,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    attachOriginalToWebAPIRequestError: false,
    allowAbsoluteUrls: false,
    ...defined({ agent: outgoingAgent(new URL(access.api)) }),
  };
  const client = new WebClient(access.token, { ...options, logger });
  let known: Promise<SlackIdentity> | undefined;
  const identify = () => {
    known ??= whoIs(client);
    known.catch(() => (known = undefined));
    return known;
  };
  return {
    identify,
    ...messagesOf(client, identify),
    openView: (trigger_id, view) => attempt(async () => void (await client.views.open({ trigger_id, view }))),
    checkSocket: () =>
      attempt(async () => {
        const app = new WebClient(access.appToken, { ...options, logger });
        await app.apps.connections.open({});
      }),
    openSocket: () => {
      const { appToken = '' } = access;
      return new SocketModeClient({
        appToken,
        autoReconnectEnabled: false,
        logger,
        clientOptions: { ...options },
      });
    },
  };
}

const answerSchema = z.object({
  channel: z.string(),
  ts: z.string(),
  message: z.object({ app_id: z.string() }),
});
const identitySchema = z
  .object({ team_id: z.string(), team: z.string(), bot_id: z.string(), user: z.string() })
  .transform(({ team_id: team, team: teamName, bot_id: bot, user: name }) => ({ team, teamName, bot, name }));

async function whoIs(client: WebClient): Promise<SlackIdentity> {
  return attempt(async () => read(identitySchema, await client.auth.test()));
}

function messagesOf(
  client: WebClient,
  identify: SlackApi['identify'],
): Pick<SlackApi, 'post' | 'update' | 'find' | 'whisper'> {
  /** Slack does not interpret the text: it makes no links, no mentions and no previews of links. */
  const asItIs = { parse: 'none', link_names: false, unfurl_links: false, unfurl_media: false } as const;
  return {
    post: (channel, { text, blocks }, notice) =>
      attempt(async () => {
        const metadata = { event_type: EVENT, event_payload: { notice } };
        const said = await client.chat.postMessage({
          channel,
          text,
          blocks,
          metadata,
          ...asItIs,
          mrkdwn: false,
        });
        const { channel: where, ts, message } = read(answerSchema, said);
        return { channel: where, ts, app: message.app_id };
      }),
    update: ({ channel, ts }, { text, blocks }) =>
      attempt(async () => {
        await client.chat.update({ channel, ts, text, blocks, parse: 'none', link_names: false });
      }),
    find: async (sought) => {
      try {
        return await attempt(async () => find(client, sought, (await identify()).bot));
      } catch (error) {
        if (error instanceof CountersignError && error.data['lacksScope'] === true) return undefined;
        throw error;
      }
    },
    whisper: ({ channel, user }, { text, blocks }) =>
      attempt(async () => {
        await client.chat.postEphemeral({ channel, user, text, blocks, parse: 'none', link_names: false });
      }),
  };
}

const historySchema = z.object({
  messages: z.array(
    z.object({
      ts: z.string(),
      bot_id: z.string().optional(),
      app_id: z.string().optional(),
      metadata: z
        .object({ event_type: z.string(), event_payload: z.object({ notice: z.unknown() }).optional() })
        .optional(),
    }),
  ),
  response_metadata: z.object({ next_cursor: z.string().optional() }).optional(),
});

async function find(
  client: WebClient,
  { target, notice, since }: Sought,
  bot: string,
): Promise<PostPlace | undefined> {
  const channel = /^[UW]/.test(target) ? await directChannel(client, target) : target;
  const oldest = String((since - CLOCK_MS) / SECOND);
  let cursor: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const found = read(
      historySchema,
      await client.conversations.history({
        channel,
        oldest,
        include_all_metadata: true,
        limit: 200,
        cursor,
      }),
    );
    const ours = found.messages.find(
      ({ bot_id, metadata }) =>
        bot_id === bot && metadata?.event_type === EVENT && metadata.event_payload?.notice === notice,
    );
    if (ours?.app_id !== undefined) return { channel, ts: ours.ts, app: ours.app_id };
    cursor = found.response_metadata?.next_cursor;
    if (cursor === undefined || cursor === '') return undefined;
  }
  return undefined;
}

async function directChannel(client: WebClient, users: string): Promise<string> {
  const opened = await client.conversations.open({ users });
  return read(z.object({ channel: z.object({ id: z.string() }) }), opened).channel.id;
}

function read<T>(schema: z.ZodType<T>, answer: unknown): T {
  const parsed = schema.safeParse(answer);
  if (parsed.success) return parsed.data;
  throw notifyFailure('Slack answered something that cannot be read');
}

/**
 * Calls Slack. An error becomes `failed` with Slack's message. `data.isRefused`: Slack says that it did nothing.
 */
async function attempt<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw error instanceof CountersignError ? error : inWords(error);
  }
}
