import { setTimeout as delay } from 'node:timers/promises';
import type { Client, Transport } from '@modelcontextprotocol/client' with { 'resolution-mode': 'import' };
import { z } from 'zod';
import type { CallReply } from '../../contract/call';
import { errorMessage } from '../../contract/errors';
import { isObject, type JsonObject } from '../../contract/json';
import type { Question } from '../../contract/question';
import { escapeHidden } from '../../contract/text/unsafe-text';
import { activeCarrier } from '../../system/traces';
import { cutOutput } from '../cut-output';
import { isTransportError, nothingDone, ToolError, TransportError } from '../errors';
import { LONGEST_TIMER_MS, queueAfter, unlessAborted } from '../wait-within';
import { LoginNeeded } from './authorization';
import { definitionsIn, digestDefinition, type Listed, MOST_TOOLS, readListed } from './definition';
import { elicit, questionsOf } from './elicitation';
import { createBreaker } from './breaker';
import { failureOfCall, isAnswer } from './result';

/** A call of a server's tool. */
export interface McpCall {
  /** The server's own name of the tool. */
  tool: string;
  arguments: JsonObject;
  /** The digest of the allowed tool. A different tool with this name is not called. */
  digest: string;
  signal: AbortSignal;
  /** Receives the server's progress. */
  onProgress(progress: { progress: number; total?: number; message?: string }): void;
  /** Asks a person a question of the server in this call, until `withdraw` aborts. Absent: nobody can be asked. */
  ask?(question: Question, withdraw: AbortSignal): Promise<CallReply>;
  /** If the server was started again since the previous call: called before this call is sent. */
  onLost?(): void;
}

/** The options of a connection. */
interface ConnectionOptions {
  /** The name that the config gives the server. */
  server: string;
  /** Makes a transport for each start. @throws if a value of the server's environment is missing. */
  makeTransport(signal: AbortSignal): Promise<Transport & { lastWords?(): string }>;
  /** Receives lines for the worker's log. */
  warn(message: string): void;
  /** Whether the server may ask for input in the middle of a call. @default false */
  mayAsk?: boolean;
}

/** A start may take this long, because some commands first download their server. */
const START_MS = 60_000;
const LIST_MS = 30_000;
/** A server that gave no answer to a call has to answer a ping within this time. */
const PING_MS = 5_000;
/** The most starts of a server for one call, if the server ends each time before the call is sent. */
const MOST_STARTS = 3;
const MOST_PAGES = 64;
/** The most bytes that we show of a server's output before its end. */
const WORDS_BYTES = 500;

/** The headers that name the span of a call. */
type Carrier = Awaited<ReturnType<typeof activeCarrier>>;

/** The tools that a server lists, and their digests by name. */
interface Look {
  listed: Listed[];
  digests: ReadonlyMap<string, string>;
}

/** One start of a server. */
interface Link {
  client: Client;
  /** Undefined if we have not asked since the server said that its tools changed. */
  tools: Promise<Look> | undefined;
  isOpen: boolean;
  /** Calls that wait for an answer. */
  busy: number;
  /** Resolves once the server has answered a ping or was given up. Set after a call without an answer. */
  pinged?: Promise<void>;
  /** The questions of the only call that waits for an answer. Used if the server may ask. */
  questions?: ReturnType<typeof questionsOf>;
}

/** A connection of this worker to one server. It opens when it is first needed, and again after it broke. */
export class McpConnection {
  private link: Promise<Link> | undefined;
  /** The client that was made last. Its server may still be starting. */
  private client: Client | undefined;
  /** Resolves when the earlier calls are over. Used if the server may ask. */
  private before: Promise<unknown> = Promise.resolve();
  /** The link that got the last call. */
  private used: Link | undefined;
  private readonly breaker = createBreaker();
  /** Aborts when the connection is closed for good. */
  private readonly closing = new AbortController();

  constructor(private readonly options: ConnectionOptions) {}

  /**
   * The tools that the server lists now.
   *
   * @throws TransportError that proves that nothing was called.
   */
  async list(signal: AbortSignal): Promise<Listed[]> {
    try {
      const link = await this.open(signal);
      link.tools = undefined;
      return (await this.toolsOf(link, signal)).listed;
    } catch (error) {
      throw signal.aborted ? unsent(`the MCP server ${this.options.server} did not answer in time`) : error;
    }
  }

  /**
   * Calls a tool, and returns the server's answer without parsing it.
   *
   * @throws ToolError `conflict` if the tool is not the allowed one; TransportError for every failure of the
   * connection, with `nothingSent` only if this is proven. A call without an answer is never sent again.
   */
  call(call: McpCall): Promise<unknown> {
    // A server does not say in which call it asks. So a server that may ask gets one call at a time.
    if (this.options.mayAsk !== true) return this.callNow(call);
    const { signal } = call;
    const { own, all } = queueAfter(this.before, () => this.callNow(call), {
      signal,
      toError: stoppedBefore,
    });
    this.before = all;
    return own;
  }

  /** If the server ended and it is proven that nothing was sent, the call goes to the next start of the server. */
  private async callNow(call: McpCall): Promise<unknown> {
    const carrier = await activeCarrier();
    for (let starts = 1; ; starts++) {
      const link = await this.open(call.signal);
      try {
        return await this.callOver(link, call, carrier);
      } catch (error) {
        if (link.isOpen || starts === MOST_STARTS || !(isTransportError(error) && error.nothingSent))
          throw error;
      }
    }
  }

  private async callOver(link: Link, call: McpCall, carrier: Carrier): Promise<unknown> {
    await this.requireSame(link, call);
    if (call.signal.aborted) throw stoppedBefore();
    if (!link.isOpen) throw unsent(`the MCP server ${this.options.server} has ended`);
    if (this.used !== undefined && this.used !== link) call.onLost?.();
    this.used = link;
    return this.send(link, call, carrier);
  }

  async close(): Promise<void> {
    this.closing.abort(new Error('the worker stops'));
    // `link` is a promise, and a server that starts may hang. So we close the client and do not wait for the link.
    await this.client?.close().catch(() => undefined);
  }

  private async send(link: Link, call: McpCall, carrier: Carrier): Promise<unknown> {
    const { tool, arguments: args, signal, onProgress } = call;
    const params = { name: tool, arguments: args, _meta: carrier };
    const questions = questionsOf(call, this.options);
    link.busy += 1;
    link.questions = questions;
    try {
      return await link.client.request({ method: 'tools/call', params }, z.unknown(), {
        signal,
        // The executor ends calls in time, so the timer of the client library must not fire.
        timeout: LONGEST_TIMER_MS,
        onprogress: onProgress,
      });
    } catch (error) {
      const failure = failureOfCall(error, this.options.server);
      if (saysSessionOver(failure)) this.leave(link);
      // The server may continue with this call, and its questions would then count as questions of the next call.
      if (this.options.mayAsk === true && signal.aborted) this.leave(link);
      else if (signal.aborted && link.isOpen) link.pinged ??= this.ping(link);
      throw failure;
    } finally {
      link.busy -= 1;
      delete link.questions;
      await questions.close();
      if (!link.isOpen && link.busy === 0) void link.client.close().catch(() => undefined);
    }
  }

  /**
   * Asks a server that gave no answer whether it still reads. If it does not, the next call starts the server anew, and
   * the silent one is ended once no call waits for it.
   */
  private async ping(link: Link) {
    const { client } = link;
    try {
      await client.request({ method: 'ping' }, z.unknown(), { timeout: PING_MS });
    } catch (error) {
      if (!isAnswer(error) && link.isOpen && !this.closing.signal.aborted) this.giveUp(link);
    }
    delete link.pinged;
  }

  private giveUp(link: Link) {
    this.leave(link);
    this.breaker.ended();
    const what = `does not answer a ping within ${PING_MS / 1000} s; it is ended and started again`;
    this.options.warn(`the MCP server ${this.options.server} ${what}`);
    if (link.busy === 0) void link.client.close().catch(() => undefined);
  }

  private async requireSame(link: Link, { tool, digest, signal }: McpCall) {
    const { digests } = await this.toolsOf(link, signal);
    const now = digests.get(tool);
    if (now === digest) return;
    const what = now === undefined ? 'is not there any more' : 'is not the one that was allowed';
    throw new ToolError(
      `The tool ${tool} of the MCP server ${this.options.server} ${what}. Nothing was sent. A person has to look at it.`,
      { code: 'conflict' },
    );
  }

  /** The link to the running server. If none runs, waits as long as the breaker says and then starts the server. */
  private async open(signal: AbortSignal): Promise<Link> {
    const link = await this.linkNow(signal);
    if (link.pinged === undefined) return link;
    await unlessAborted(link.pinged, signal, stoppedBefore);
    return link.isOpen ? link : this.open(signal);
  }

  private async linkNow(signal: AbortSignal): Promise<Link> {
    if (this.closing.signal.aborted) throw unsent('the worker stops');
    if (this.link === undefined) {
      const waitMs = this.breaker.waitMs();
      if (waitMs === undefined) {
        const again = `it is tried again in ${this.breaker.seconds()} s`;
        throw unsent(`the MCP server ${this.options.server} keeps ending; ${again}`);
      }
      await delay(waitMs, undefined, { signal }).catch(() => {
        throw stoppedBefore();
      });
      this.link ??= this.start();
    }
    return unlessAborted(this.link, signal, stoppedBefore);
  }

  private start(): Promise<Link> {
    const starting = this.connect();
    starting.catch((error: unknown) => {
      this.link = undefined;
      if (this.closing.signal.aborted) return;
      // A missing login must not delay the next call, because somebody may have logged in since.
      if (!(error instanceof LoginNeeded)) this.breaker.ended();
      this.options.warn(errorMessage(error));
    });
    return starting;
  }

  private async connect(): Promise<Link> {
    const { server, makeTransport, mayAsk } = this.options;
    const { Client } = await import('@modelcontextprotocol/client');
    const transport = await makeTransport(AbortSignal.timeout(START_MS));
    // No sampling and no roots. Questions in forms only: a question with a URL could lead a person to a harmful page.
    const capabilities = mayAsk === true ? { elicitation: { form: {} } } : {};
    const client = new Client({ name: 'countersign', version: '1' }, { capabilities });
    this.client = client;
    const link: Link = { client, tools: undefined, isOpen: false, busy: 0 };
    if (mayAsk === true)
      client.setRequestHandler(
        'elicitation/create',
        ({ params }, { mcpReq }) =>
          link.questions?.elicit(params, mcpReq.signal) ?? elicit(params, undefined, this.options),
      );
    client.setNotificationHandler('notifications/tools/list_changed', () => {
      link.tools = undefined;
    });
    client.onclose = () => this.lost(link, transport.lastWords?.() ?? '');
    try {
      await client.connect(transport, { timeout: START_MS, signal: this.closing.signal });
      this.closing.signal.throwIfAborted();
      if (client.transport === undefined) throw new Error('it ended at once');
    } catch (cause) {
      await client.close().catch(() => undefined);
      if (cause instanceof LoginNeeded) throw cause;
      const words = said(transport.lastWords?.() ?? '');
      throw unsent(`the MCP server ${server} did not start: ${errorMessage(cause)}${words}`, cause);
    }
    link.isOpen = true;
    this.breaker.started();
    return link;
  }

  private lost(link: Link, words: string) {
    if (!link.isOpen) return;
    link.isOpen = false;
    this.link = undefined;
    if (this.closing.signal.aborted) return;
    this.breaker.ended();
    this.options.warn(`the MCP server ${this.options.server} has ended${said(words)}`);
  }

  /** Makes the next call open a new session. Calls that wait in the old session may still get their answers. */
  private leave(link: Link) {
    if (!link.isOpen) return;
    link.isOpen = false;
    this.link = undefined;
  }

  /** The tools that the server lists. We ask once, and again after the server said that its tools changed. */
  private async toolsOf(link: Link, signal: AbortSignal): Promise<Look> {
    const looking = (link.tools ??= this.look(link));
    try {
      return await unlessAborted(looking, signal, stoppedBefore);
    } catch (error) {
      if (link.tools === looking && !signal.aborted) link.tools = undefined;
      throw error;
    }
  }

  private async look({ client }: Link): Promise<Look> {
    try {
      const listed = readListed(await this.pages(client));
      const digests = definitionsIn(listed).map((one) => [one.name, digestDefinition(one)] as const);
      return { listed, digests: new Map(digests) };
    } catch (error) {
      if (error instanceof LoginNeeded) throw error;
      const why = errorMessage(error);
      throw unsent(`the MCP server ${this.options.server} did not list its tools: ${why}`, error);
    }
  }

  private async pages(client: Client): Promise<unknown[]> {
    const tools: unknown[] = [];
    let cursor: string | undefined;
    for (let page = 0; page < MOST_PAGES && tools.length <= MOST_TOOLS; page++) {
      const params = cursor === undefined ? {} : { cursor };
      const answer = await client.request({ method: 'tools/list', params }, listAnswer, { timeout: LIST_MS });
      tools.push(...answer.tools);
      cursor = answer.nextCursor;
      if (cursor === undefined) return tools;
    }
    this.options.warn(`the MCP server ${this.options.server} lists more tools than are read`);
    return tools;
  }
}

const listAnswer = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

function unsent(message: string, cause?: unknown) {
  return new TransportError(message, { nothingSent: true, cause });
}

function said(words: string) {
  return words === '' ? '' : `; it wrote: ${escapeHidden(cutOutput(words, WORDS_BYTES))}`;
}

function stoppedBefore(): Error {
  return nothingDone('it was stopped before anything was sent');
}

/** True for the status of a streamable HTTP server that has lost the session, such as after a restart. */
function saysSessionOver({ details }: TransportError) {
  return isObject(details) && (details['status'] === 404 || details['status'] === 400);
}
