import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { z } from 'zod';
import { INSTEAD } from '../../src/notify/slack-text';

export const BOT_TOKEN = 'xoxb-s3cret-bot';
export const APP_TOKEN = 'xapp-s3cret-app';
export const [TEAM, APP, BOT] = ['T1', 'A1', 'B1'];

const text = z.object({
  type: z.enum(['plain_text', 'mrkdwn']),
  text: z.string().min(1).max(3000),
  emoji: z.boolean().optional(),
});
const of = (most: number) => text.refine((one) => one.text.length <= most, `over ${most}`);
const button = z.strictObject({
  ...{ type: z.literal('button'), action_id: z.string().max(255), text: of(75) },
  ...{ value: z.string().max(2000).optional(), url: z.string().max(3000).optional() },
  style: z.enum(['primary', 'danger']).optional(),
  confirm: z.strictObject({ title: of(100), text: of(300), confirm: of(30), deny: of(30) }).optional(),
});
const letters = z.strictObject({
  ...{ type: z.literal('text'), text: z.string().min(1) },
  style: z.object({ bold: z.boolean() }).optional(),
});
const date = z.strictObject({
  ...{ type: z.literal('date'), timestamp: z.number().int(), format: z.string(), fallback: z.string() },
});
const rich = z.strictObject({
  type: z.enum(['rich_text_section', 'rich_text_preformatted']),
  border: z.number().optional(),
  elements: z.array(z.union([letters, date])).min(1),
});
const block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), text: of(150) }),
  z.strictObject({ type: z.literal('context'), elements: z.array(text).min(1).max(10) }),
  z.strictObject({ type: z.literal('actions'), elements: z.array(button).min(1).max(25) }),
  z.strictObject({ type: z.literal('rich_text'), elements: z.array(rich).min(1) }),
]);
/** Slack's own limits, as far as they matter here. */
export const blocksSchema = z.array(block).min(1).max(50);

const viewSchema = z.object({
  ...{ type: z.literal('modal'), callback_id: z.string().max(255), private_metadata: z.string().max(3000) },
  ...{ title: of(24), submit: of(24), close: of(24), blocks: z.array(z.object({ label: of(2000) })) },
});
export type View = z.output<typeof viewSchema>;

const metadata = z.object({ event_type: z.string(), event_payload: z.object({ notice: z.string() }) });

/** One message that was posted. */
export interface SlackMessage {
  channel: string;
  ts: string;
  text: string;
  blocks: z.output<typeof blocksSchema>;
  metadata?: z.output<typeof metadata>;
  changes: number;
}

/**
 * An answer to the next call of a method. `error`: Slack's word for it; `limited`: seconds to wait; `lost`: it is done, and
 * nobody hears of it; `hang`: the same, without an end; `down`: nothing is done.
 */
export type Scripted = { error: string } | { limited: number } | 'lost' | 'hang' | 'down';

/** A server on this machine that speaks as much of Slack as we use, with real packages against it. */
export interface SlackServer {
  /** Where its Web API is. */
  api: string;
  messages: SlackMessage[];
  whispers: { channel: string; user: string; text: string }[];
  views: View[];
  /** Methods that were called, with what came. */
  calls: { method: string; body: Record<string, string>; token: string }[];
  /** Envelopes that were acknowledged, in order. */
  acks: string[];
  /** Open sockets. */
  sockets(): number;
  script(method: string, ...answers: Scripted[]): void;
  /** Sends a payload over each socket; gives its envelope. */
  send(payload: unknown, envelope?: string): string;
  /** Somebody clicks; Slack's payload is sent, or only given. */
  press(message: SlackMessage, action: string, user: string): Record<string, unknown>;
  /** Closes all sockets, as Slack does every few hours. */
  drop(): void;
  close(): Promise<void>;
}

const bodySchema = z.record(z.string(), z.string());

export async function startSlackServer(): Promise<SlackServer> {
  const messages: SlackMessage[] = [];
  const whispers: SlackServer['whispers'] = [];
  const views: View[] = [];
  const calls: SlackServer['calls'] = [];
  const acks: string[] = [];
  const scripts = new Map<string, Scripted[]>();
  let count = 0;
  const sockets = new WebSocketServer({ noServer: true });

  const methods: Record<string, (body: Record<string, string>) => object> = {
    'auth.test': () => ({ team_id: TEAM, team: 'Acme', bot_id: BOT, user: 'countersign', user_id: 'UBOT' }),
    'apps.connections.open': () => ({ url: `${address().replace('http', 'ws')}/link?ticket=1` }),
    'conversations.open': ({ users = '' }) => ({ channel: { id: users.replace(/^./, 'D') } }),
    'chat.postMessage': ({ channel = '', text: said = '', blocks, metadata: about }) => {
      const message: SlackMessage = {
        channel: channel.replace(/^U/, 'D'),
        ts: `${(Date.now() / 1000).toFixed(3)}${String(count++).padStart(3, '0')}`,
        text: said,
        blocks: blocksSchema.parse(JSON.parse(blocks ?? '')),
        metadata: metadata.parse(JSON.parse(about ?? '')),
        changes: 0,
      };
      messages.push(message);
      return { channel: message.channel, ts: message.ts, message: { bot_id: BOT, app_id: APP } };
    },
    'chat.update': ({ channel, ts, text: said = '', blocks }) => {
      const message = messages.find((one) => one.channel === channel && one.ts === ts);
      if (message === undefined) return { ok: false, error: 'message_not_found' };
      Object.assign(message, { text: said, blocks: blocksSchema.parse(JSON.parse(blocks ?? '')) });
      message.changes += 1;
      return { channel, ts };
    },
    'chat.postEphemeral': ({ channel = '', user = '', text: said = '', blocks }) => {
      blocksSchema.parse(JSON.parse(blocks ?? ''));
      whispers.push({ channel, user, text: said });
      return {};
    },
    'views.open': ({ view = '' }) => {
      views.push(viewSchema.parse(JSON.parse(view)));
      return { view: { id: `V${views.length}` } };
    },
    'conversations.history': ({ channel, oldest = '0', cursor = '0' }) => {
      const all = messages.filter((one) => one.channel === channel && Number(one.ts) >= Number(oldest));
      // Pages of one, so that more than one is read.
      const at = Number(cursor);
      const page = all.slice(at, at + 1).map((one) => ({ ...one, bot_id: BOT, app_id: APP }));
      return {
        messages: page,
        response_metadata: { next_cursor: at + 1 < all.length ? String(at + 1) : '' },
      };
    },
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let sent = '';
    for await (const chunk of request) sent += String(chunk);
    const method = (request.url ?? '').replace('/api/', '');
    const body = bodySchema.parse(Object.fromEntries(new URLSearchParams(sent)));
    const token = (request.headers.authorization ?? '').replace('Bearer ', '');
    calls.push({ method, body, token });
    const scripted = scripts.get(method)?.shift();
    if (scripted === 'down') return void request.socket.destroy();
    if (typeof scripted === 'object' && 'limited' in scripted)
      return void response.writeHead(429, { 'retry-after': String(scripted.limited) }).end();
    response.setHeader('content-type', 'application/json');
    if (typeof scripted === 'object') return void response.end(JSON.stringify({ ok: false, ...scripted }));
    const wanted = method === 'apps.connections.open' ? APP_TOKEN : BOT_TOKEN;
    if (token !== wanted) return void response.end(JSON.stringify({ ok: false, error: 'invalid_auth' }));
    const done = methods[method]?.(body) ?? { ok: false, error: 'unknown_method' };
    if (scripted === 'lost') return void request.socket.destroy();
    if (scripted === 'hang') return;
    response.end(JSON.stringify({ ok: true, ...done }));
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      response.end(JSON.stringify({ ok: false, error: `validation ${String(error).slice(0, 500)}` }));
    });
  });
  server.on('upgrade', (request, socket, head) => {
    sockets.handleUpgrade(request, socket, head, (one) => {
      one.send(JSON.stringify({ type: 'hello', num_connections: 1, connection_info: { app_id: APP } }));
      one.on('message', (data) => {
        acks.push(z.object({ envelope_id: z.string() }).parse(JSON.parse(String(data))).envelope_id);
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = (): string => {
    const at = server.address();
    return `http://127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}`;
  };

  const send = (payload: unknown, envelope = `E${++count}`): string => {
    const type = 'interactive';
    for (const one of sockets.clients)
      one.send(JSON.stringify({ type, envelope_id: envelope, payload, accepts_response_payload: false }));
    return envelope;
  };
  return {
    ...{ api: `${address()}/api/`, messages, whispers, views, calls, acks, send },
    sockets: () => [...sockets.clients].filter((one) => one.readyState === WebSocket.OPEN).length,
    script: (method, ...answers) => void scripts.set(method, [...(scripts.get(method) ?? []), ...answers]),
    press: (message, action, user) => pressOf(message, action, { user, at: `${Date.now()}.${++count}` }),
    drop: () => {
      for (const one of sockets.clients) one.close();
    },
    close: async () => {
      for (const one of sockets.clients) one.terminate();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const HEAD = { team: { id: TEAM, domain: 'acme' }, api_app_id: APP, trigger_id: 'trigger' };

function pressOf(
  message: SlackMessage,
  action: string,
  { user, at }: { user: string; at: string },
): Record<string, unknown> {
  const pressed = buttonsOf(message).find(({ text: label }) => label.text === action);
  if (pressed === undefined) throw new Error(`there is no button ${action}`);
  return {
    ...{ type: 'block_actions', ...HEAD, user: { id: user, team_id: TEAM } },
    container: { type: 'message', channel_id: message.channel, message_ts: message.ts },
    actions: [{ ...pressed, action_ts: at }],
  };
}

/** What somebody submits in a window of ours. */
export function submitOf(
  view: Pick<View, 'callback_id' | 'private_metadata'>,
  reason: string,
  user: string,
  instead: string | null = null,
): Record<string, unknown> {
  const { callback_id, private_metadata } = view;
  const values = {
    [callback_id]: { [callback_id]: { type: 'plain_text_input', value: reason } },
    [INSTEAD]: { [INSTEAD]: { type: 'plain_text_input', value: instead } },
  };
  return {
    ...{ type: 'view_submission', ...HEAD, user: { id: user, team_id: TEAM } },
    view: { id: 'V1', callback_id, private_metadata, state: { values } },
  };
}

/** The buttons of a message. */
export function buttonsOf({ blocks }: Pick<SlackMessage, 'blocks'>) {
  return blocks.flatMap((one) => (one.type === 'actions' ? one.elements : []));
}

/** What buttons say. */
export function labelsOf(message: Pick<SlackMessage, 'blocks'>): string[] {
  return buttonsOf(message).map(({ text: label }) => label.text);
}

/** All that a message shows, but for its buttons. */
export function shownIn({ blocks }: Pick<SlackMessage, 'blocks'>): string {
  return blocks
    .flatMap((one): string[] => {
      if (one.type === 'header') return [one.text.text];
      if (one.type === 'context') return one.elements.map((said) => said.text);
      if (one.type === 'rich_text')
        return one.elements.map(({ elements }) =>
          elements.map((said) => ('fallback' in said ? said.fallback : said.text)).join(''),
        );
      return [];
    })
    .join('\n');
}
