/** A screen of the page. It is in the fragment of the address, so the server has one page only. */
export type Route =
  | { at: 'inbox' }
  | { at: 'call'; turn: string; callId: string }
  | { at: 'turns' }
  /** `step`: the step or the call to show, `3` or `3.1`. */
  | { at: 'turn'; turn: string; step?: string }
  | { at: 'stats' }
  | { at: 'decided' }
  | { at: 'refused' }
  /** A place that the page does not have. */
  | { at: 'nowhere'; place: string };

/** The route of a fragment such as `#/turns/t1/calls/1.2`. */
export function parseRoute(fragment: string): Route {
  const place = fragment.replace(/^#\/?/, '');
  const parts = place.replace(/\/$/, '').split('/').map(decode);
  const [first, turn = '', third, last = ''] = parts;
  // A link that signs in has no place.
  if (place === '' || signInCode(fragment) !== undefined) return { at: 'inbox' };
  if (first === 'stats' && parts.length === 1) return { at: 'stats' };
  if ((first === 'decided' || first === 'refused') && parts.length === 1) return { at: first };
  if (first === 'turns' && parts.length === 1) return { at: 'turns' };
  if (first === 'turns' && turn !== '' && parts.length === 2) return { at: 'turn', turn };
  const isPart = first === 'turns' && turn !== '' && last !== '' && parts.length === 4;
  if (isPart && third === 'calls') return { at: 'call', turn, callId: last };
  return isPart && third === 'steps' ? { at: 'turn', turn, step: last } : { at: 'nowhere', place };
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
    case 'decided':
    case 'refused':
      return `#/${route.at}`;
    case 'turn':
      return `#/turns/${encodeURIComponent(route.turn)}${route.step === undefined ? '' : `/steps/${encodeURIComponent(route.step)}`}`;
    case 'call':
      return `#/turns/${encodeURIComponent(route.turn)}/calls/${encodeURIComponent(route.callId)}`;
    case 'nowhere':
      return `#/${route.place}`;
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
