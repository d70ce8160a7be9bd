import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { isObject, parseJson } from '../../contract/json';
import { ModelError } from '../model';

/** One value of a body, or the mark with which a stream ends. */
type Frame = { value: unknown } | 'done';

/**
 * The values that a body has: one JSON text, one JSON text a line, or the events of a stream. The body tells which, not
 * what was asked for, because servers and proxies answer in another form than asked.
 */
export async function* framesOf(response: Response): AsyncGenerator<Frame> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => events.push(event) });
  let head = '';
  let isJson: boolean | undefined;
  for await (const text of textsOf(response)) {
    if (isJson === true) {
      head += text;
      continue;
    }
    const given = isJson === undefined ? (head += text) : text;
    if (isJson === undefined && given.trim() === '') continue;
    isJson ??= /^[\s\uFEFF]*[[{]/.test(given);
    if (isJson) continue;
    parser.feed(given);
    yield* events.splice(0).flatMap(toFrame);
  }
  if (isJson !== false) yield* wholeOf(head);
}

async function* textsOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const bytes of response.body ?? []) yield decoder.decode(bytes, { stream: true });
  yield decoder.decode();
}

function wholeOf(text: string): Frame[] {
  const value = parseJson(text.trim());
  if (value !== undefined) return [{ value }, 'done'];
  const lines = text.split('\n').filter((line) => line.trim() !== '');
  const values = lines.map(parseJson);
  if (lines.length < 2 || values.some((one) => one === undefined)) throw notJson();
  return [...values.map((one) => ({ value: one })), 'done'];
}

/** The value of an event. Words that are not JSON, such as a sign of life, mean nothing. */
function toFrame({ data, event }: EventSourceMessage): Frame[] {
  const text = data.trim();
  if (/^"?\[DONE\]"?$/i.test(text)) return ['done'];
  const value = parseJson(text);
  if (event === 'error') return [{ value: { error: isObject(value) ? (value['error'] ?? value) : text } }];
  if (value === undefined && /^[[{]/.test(text)) throw notJson();
  return value === undefined ? [] : [{ value }];
}

function notJson(): ModelError {
  return new ModelError('network', 'the reply is not JSON; it may have been cut', { retryable: true });
}
