import { describeBytes } from '../format-result';
import type { FollowedAnswer } from './follow';
import type { HttpAnswer } from './send';

/** The text that the model reads: the status line, notes, headers, and the body. */
export function describeAnswer({ answer, url, redirects, note }: FollowedAnswer): string {
  const { status, statusText, headers, body } = answer;
  const notes = [
    ...(redirects === 0
      ? []
      : [`From ${url.href} after ${redirects === 1 ? '1 redirect' : `${redirects} redirects`}.`]),
    ...(note === undefined ? [] : [`The redirect was not followed: ${note}.`]),
    ...('missing' in body ? [`No body: ${body.missing}.`] : []),
  ];
  const head = [
    `${status} ${statusText}`.trim(),
    ...notes.map((one) => `[${one}]`),
    ...headers.filter(([name]) => !LEFT_OUT.includes(name)).map(([name, value]) => `${name}: ${value}`),
  ].join('\n');
  const text = 'missing' in body ? '' : textOf(body, headers);
  return text === '' ? head : `${head}\n\n${text}`;
}

/**
 * Headers that the model does not read. Cookies are secrets of the server, and the other headers concern the
 * connection.
 */
const LEFT_OUT: readonly string[] = ['set-cookie', 'connection', 'keep-alive', 'transfer-encoding'];

/** The body as text if its bytes are valid in the charset that the server names, otherwise as marked base64. */
function textOf(body: Buffer, headers: HttpAnswer['headers']) {
  const [, type = ''] = headers.find(([name]) => name === 'content-type') ?? [];
  const [, charset = 'utf-8'] = /;\s*charset="?([\w.:-]{1,40})/i.exec(type) ?? [];
  try {
    const text = new TextDecoder(charset, { fatal: true }).decode(body);
    return text.includes('\0') ? describeBytes(body) : text;
  } catch {
    return describeBytes(body);
  }
}
