/** A screen of the page. It is in the fragment of the address, so the server has one page only. */
export type Route =
  | { at: 'inbox' }
  | { at: 'call'; turn: string; callId: string }
  | { at: 'turns' }
  | { at: 'turn'; turn: string }
  | { at: 'stats' };

/** The route of a fragment such as `#/turns/t1/calls/1.2`; the inbox when it is unknown. */
export function parseRoute(fragment: string): Route {
  const [first, turn, third, callId] = fragment.replace(/^#\/?/, '').split('/').map(decode);
  if (first === 'stats') return { at: 'stats' };
  if (first !== 'turns') return { at: 'inbox' };
  if (turn === undefined || turn === '') return { at: 'turns' };
  if (third === 'calls' && callId !== undefined && callId !== '') return { at: 'call', turn, callId };
  return { at: 'turn', turn };
}

/** The fragment of a route. */
export function hrefOf(route: Route): string {
  switch (route.at) {
    case 'inbox':
      return '#/';
    case 'turns':
      return '#/turns';
    case 'stats':
      return '#/stats';
    case 'turn':
      return `#/turns/${encodeURIComponent(route.turn)}`;
    case 'call':
      return `#/turns/${encodeURIComponent(route.turn)}/calls/${encodeURIComponent(route.callId)}`;
  }
}

/** The one-time code of a fragment such as `#code=abc`. */
export function signInCode(fragment: string): string | undefined {
  const code = new URLSearchParams(fragment.replace(/^#/, '')).get('code');
  return code === null || code === '' ? undefined : code;
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
