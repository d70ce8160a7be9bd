import type { ModelMessage } from './model';
import { sha256 } from '../system/sha256';

/** The ids of calls that a provider takes. */
export interface IdForm {
  fits: RegExp;
  /** Makes an id from a digest in hexadecimal. */
  make(digest: string): string;
}

/** What OpenAI, Anthropic and those who copy them take. */
const SAFE: IdForm = { fits: /^[\w-]{1,64}$/, make: (digest) => `call_${digest.slice(0, 24)}` };

/** Nine letters or digits, which every provider takes. */
const NINE: IdForm = {
  fits: /^[A-Za-z0-9]{9}$/,
  make: (digest) =>
    BigInt(`0x${digest.slice(0, 16)}`)
      .toString(36)
      .padStart(9, '0')
      .slice(-9),
};

/** Ids such as `functions.read_file:0`, without which such models call worse. */
const INDEXED: IdForm = { ...SAFE, fits: /^(?:[\w-]{1,64}|functions\.[\w-]{1,80}:\d{1,6})$/ };

/** The ids that a model takes, by its name and its host. */
export function idFormOf(model: string, host: string): IdForm {
  if (/(?:^|\.)mistral\.ai(?::|$)/i.test(host) || /mi[sx]tral|codestral|devstral|pixtral/i.test(model))
    return NINE;
  return /kimi|moonshot/i.test(model) ? INDEXED : SAFE;
}

/**
 * The conversation with ids that a provider takes, and each only once. A call and its result keep one id, and the same
 * conversation gets the same ids each time, so that the provider's cache knows it again. Names of tools that no tool
 * can have are made such names, because providers check them, too.
 */
export function withFittingIds(messages: readonly ModelMessage[], form: IdForm): ModelMessage[] {
  const given = messages.flatMap((message) => (message.role === 'assistant' ? message.toolCalls : []));
  const taken = new Set(given.flatMap(({ id }) => (id !== undefined && form.fits.test(id) ? id : [])));
  const kept = new Set<string>();
  let open = new Map<string, string[]>();
  const idFor = (id: string) => {
    if (form.fits.test(id) && !kept.has(id)) {
      kept.add(id);
      return id;
    }
    for (let n = 0; ; n++) {
      const made = form.make(sha256(`${id} ${n}`));
      if (taken.has(made)) continue;
      taken.add(made);
      return made;
    }
  };
  return messages.map((message, place) => {
    if (message.role === 'user') return message;
    if (message.role === 'tool') {
      const [first = idFor(message.toolCallId), ...others] = open.get(message.toolCallId) ?? [];
      if (others.length > 0) open.set(message.toolCallId, others);
      return { ...message, toolCallId: first, toolName: fittingName(message.toolName) };
    }
    open = new Map();
    const toolCalls = message.toolCalls.map((call, index) => {
      const id = call.id ?? `call_${place}_${index + 1}`;
      const made = idFor(id);
      open.set(id, [...(open.get(id) ?? []), made]);
      return { ...call, id: made, name: fittingName(call.name) };
    });
    return { ...message, toolCalls };
  });
}

function fittingName(name: string) {
  return name.replaceAll(/[^\w-]/g, '_').slice(0, 64) || 'unknown';
}
