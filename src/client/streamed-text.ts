import { setTimeout as delay } from 'node:timers/promises';
import { createParser } from 'eventsource-parser';
import { race } from '../system/race';
import { CountersignError } from '../contract/errors';
import { parseJson } from '../contract/json';
import { guard } from '../contract/schema/message';
import { list, number, object, oneOf, text } from '../contract/schema/shape';
import {
  SILENT_MS,
  type SendText,
  streamRetryMs,
  type StreamPlace,
  type StreamSender,
  type TextDelta,
} from '../contract/streamed-text';
import type { TurnEvent } from '../history/events';
import { purposeOf } from '../history/fold/activities';
import { is } from '../history/fold/guards';
import { Payloads } from '../history/decode/payloads';
import { describeTurn, readTurn } from '../history/read';
import { outgoingFetch } from '../system/proxies';
import { postToInbox, sendNewsTo } from './stream-news';
import type { ClientContext } from './context';
import type { FollowOptions } from './requests';

/**
 * The web inbox for streamed text: the given one, or the one in the environment. Undefined if there is neither.
 *
 * @throws CountersignError `config_invalid`. The error never shows the token.
 */
export function readStreamPlace(given?: StreamPlace, env = process.env): StreamPlace | undefined {
  const { COUNTERSIGN_STREAM_URL: address, COUNTERSIGN_STREAM_TOKEN: token = '' } = env;
  if (given !== undefined) return checkPlace(given, 'stream.url', 'stream.token');
  if (address === undefined || address === '') return undefined;
  return checkPlace({ url: address, token }, 'COUNTERSIGN_STREAM_URL', 'COUNTERSIGN_STREAM_TOKEN');
}

function checkPlace(place: StreamPlace, urlName: string, tokenName: string): StreamPlace {
  const { url: address, token } = place;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (
    url === undefined ||
    !/^https?:$/.test(url.protocol) ||
    url.username + url.password + url.search !== ''
  ) {
    throw new CountersignError(
      'config_invalid',
      `${urlName} is not the address of a web inbox`,
      'Write it like http://inbox.example.com:7243, without a user, a password or a query.',
    );
  }
  return { url: url.href.replace(/\/$/, ''), token: requireStreamToken(token, tokenName) };
}

/** The form of a token, as the text of a pattern: characters that a header can carry, enough that nobody guesses them. */
export const STREAM_TOKEN = '[\\x21-\\x7e]{16,200}';

/**
 * Checks a token. @throws CountersignError `config_invalid` for a token that a header cannot carry or that could be
 * guessed.
 */
export function requireStreamToken(token: string, tokenName: string): string {
  if (new RegExp(`^${STREAM_TOKEN}$`).test(token)) return token;
  throw new CountersignError(
    'config_invalid',
    `${tokenName} is not a token of 16 to 200 characters`,
    `Set ${tokenName} to one secret for the web inbox, its workers and those who follow turns.`,
  );
}

/**
 * The sender that a worker uses: the given sender, or a sender to the web inbox that is named.
 *
 * @throws CountersignError `config_invalid`.
 */
export function streamSender(given?: StreamPlace | SendText | StreamSender): StreamSender | undefined {
  if (typeof given === 'function') return { text: given };
  if (given !== undefined && 'text' in given) return given;
  const place = readStreamPlace(given);
  return place && { text: sendTextTo(place), news: sendNewsTo(place) };
}

const areGaps = guard(
  list(object({ turn: text(), scheduledAt: number(), revision: number(), at: number() })),
);

/** Sends text to the process of a web inbox. Throws the errors of `post`. */
export function sendTextTo(place: StreamPlace): SendText {
  return async (pieces) => {
    const gaps: unknown = await (await postToInbox(place, '/api/stream', pieces)).json();
    if (!areGaps(gaps)) throw new Error('the web inbox does not say which text it lacks');
    return gaps;
  };
}

/**
 * The events of a turn and, between `thinking` and `step`, the text that the model writes.
 *
 * @throws CountersignError as `follow`.
 */
export async function* followWithText(
  context: ClientContext,
  turn: string,
  options: FollowOptions,
): AsyncGenerator<TurnEvent | TextDelta> {
  const ended = new AbortController();
  const signal = AbortSignal.any([ended.signal, ...(options.signal === undefined ? [] : [options.signal])]);
  const place = createPlace();
  const events = readTurn(context.source, turn, { ...options, signal, live: true });
  const texts =
    context.stream === undefined
      ? textInBeats(context, turn, { signal, isThinking: place.isThinking })
      : textAt(context.stream, { namespace: context.namespace, turn }, signal);
  try {
    yield* inOrder(events, texts, place);
  } finally {
    ended.abort();
    await events.return(undefined);
  }
}

/**
 * Gives each delta at its place among the events. An early delta waits for the event `thinking` of its step, and a late
 * delta is dropped.
 */
async function* inOrder(
  events: AsyncGenerator<TurnEvent>,
  texts: AsyncGenerator<TextDelta>,
  place: Place,
): AsyncGenerator<TurnEvent | TextDelta> {
  type Won = { text: TextDelta | undefined } | { event: IteratorResult<TurnEvent> };
  const textNow = (): Promise<Won> => texts.next().then(({ value }) => ({ text: value ?? undefined }));
  const eventNow = (): Promise<Won> => events.next().then((event) => ({ event }));
  let nextEvent = eventNow();
  let nextText: ReturnType<typeof textNow> | undefined = textNow();
  for (let held: TextDelta | undefined; ;) {
    const won = await race(nextText === undefined ? [nextEvent] : [nextEvent, nextText]);
    if ('event' in won) {
      if (won.event.done === true) return;
      place.note(won.event.value);
      yield won.event.value;
      nextEvent = eventNow();
    } else {
      held = won.text;
      nextText = undefined;
    }
    const when = held === undefined ? 'early' : place.of(held);
    if (held === undefined || when === 'early') continue;
    if (when === 'now') yield held;
    held = undefined;
    nextText = textNow();
  }
}

/** The position in the events: the run, and the step for which the model is asked. */
interface Place {
  note(event: TurnEvent): void;
  /** Whether the events are at this text, before it, or past it. */
  of(delta: TextDelta): 'early' | 'now' | 'late';
  isThinking(): boolean;
}

function createPlace(): Place {
  const runs = new Set<string>();
  let run = '';
  let step = 0;
  let isThinking = false;
  const enter = (next: string) => {
    runs.add(run);
    run = next;
    isThinking = false;
    step = 0;
  };
  return {
    isThinking: () => isThinking,
    note(event) {
      if (event.type === 'turn_started' && event.runId !== run) enter(event.runId);
      if (event.type === 'reset' || event.type === 'continued_as_new') enter(event.newRunId);
      if (event.type === 'step' || event.type === 'think_failed' || event.type === 'turn_ended')
        isThinking = false;
      if (event.type !== 'thinking') return;
      step = event.step;
      isThinking = true;
    },
    of(delta) {
      if (delta.runId !== run) return runs.has(delta.runId) ? 'late' : 'early';
      if (delta.from === step && isThinking) return 'now';
      if (delta.step === step) return isThinking ? 'now' : 'late';
      return delta.step < step ? 'late' : 'early';
    },
  };
}

const isDelta = guard(
  object(
    { type: oneOf(['text']), runId: text(), step: number(), attempt: number(), at: number(), text: text() },
    { from: number() },
  ),
);

/** The text of a turn from the web inbox. Connects again after an outage, and ends with the signal. Never throws. */
async function* textAt(
  { url, token }: StreamPlace,
  { namespace, turn }: { namespace: string; turn: string },
  signal: AbortSignal,
): AsyncGenerator<TextDelta> {
  const query = new URLSearchParams({ namespace, turn });
  for (let failures = 0; !signal.aborted; failures++) {
    const lost = new AbortController();
    let watchdog: NodeJS.Timeout | undefined;
    const heard = () => {
      clearTimeout(watchdog);
      watchdog = setTimeout(() => lost.abort(), SILENT_MS).unref();
    };
    try {
      heard();
      const response = await outgoingFetch(`${url}/api/stream?${query}`, {
        headers: { authorization: `Bearer ${token}` },
        redirect: 'error',
        signal: AbortSignal.any([signal, lost.signal]),
      });
      if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
      for await (const delta of deltasIn(response.body, heard)) {
        failures = 0;
        yield delta;
      }
    } catch {
      // The text is only a view. The reply comes with the events, and these report a server that is gone.
    } finally {
      clearTimeout(watchdog);
      lost.abort();
    }
    await delay(streamRetryMs(failures + 1), undefined, { signal, ref: false }).catch(() => undefined);
  }
}

async function* deltasIn(body: ReadableStream<Uint8Array>, heard: () => void): AsyncGenerator<TextDelta> {
  const ready: TextDelta[] = [];
  const parser = createParser({
    onEvent: ({ event, data }) => {
      const delta = event === 'text' ? parseJson(data) : undefined;
      if (isDelta(delta)) ready.push(delta);
    },
  });
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    heard();
    parser.feed(decoder.decode(chunk, { stream: true }));
    yield* ready.splice(0);
  }
}

/** The wait between two looks at the heartbeats, in milliseconds. */
const LOOK_MS = 1_000;

/** The beginning of the text that the model writes, as the heartbeats carry it. Ends with the signal. Never throws. */
async function* textInBeats(
  context: ClientContext,
  turn: string,
  { signal, isThinking }: { signal: AbortSignal; isThinking: () => boolean },
): AsyncGenerator<TextDelta> {
  let last: TextDelta | undefined;
  while (!signal.aborted) {
    await delay(LOOK_MS, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted || !isThinking()) continue;
    // Following the turn fails with the same error, and reports it.
    const now = await headInBeat(context, turn).catch(() => undefined);
    if (now === undefined) continue;
    const isSame = last?.runId === now.runId && last.step === now.step && last.attempt === now.attempt;
    const at = isSame && last !== undefined && now.text.startsWith(last.text) ? last.text.length : 0;
    last = now;
    if (at === 0 || at < now.text.length) yield { ...now, at, text: now.text.slice(at) };
  }
}

async function headInBeat(context: ClientContext, turn: string): Promise<TextDelta | undefined> {
  const description = await describeTurn(context, turn);
  const runId = description?.workflowExecutionInfo?.execution?.runId ?? '';
  for (const info of description?.pendingActivities ?? []) {
    const purpose = purposeOf({ id: info.activityId ?? '', activityType: info.activityType?.name ?? '' });
    if (purpose?.what !== 'think') continue;
    const owner = { type: 'workflow', namespace: context.namespace, workflowId: turn } as const;
    const payloads = new Payloads(context.client.options.loadedDataConverter, owner);
    const beat = await payloads.first(info.heartbeatDetails);
    if (!is.beat(beat) || beat.text === undefined) return undefined;
    return {
      type: 'text',
      runId,
      step: beat.step ?? purpose.step,
      from: purpose.step,
      attempt: info.attempt ?? 1,
      at: 0,
      text: beat.text,
    };
  }
  return undefined;
}
