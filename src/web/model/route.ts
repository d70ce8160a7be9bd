import { callFragment } from '../../contract/names';

/**
 * A screen of the page. The route is in the fragment of the address, because the server has only one page. `query` says
 * what a list shows, in the form of the part of a URL after `?`. Undefined: the list shows the same as the last time.
 */
export type Route =
  | { at: 'inbox'; query?: string }
  /** `query`: the query of the list beside the call. */
  | { at: 'call'; turn: string; callId: string; query?: string }
  | { at: 'turns'; query?: string }
  /** `step`: the step or the call to show, `3` or `3.1`. */
  | { at: 'turn'; turn: string; step?: string }
  | { at: 'conversations'; query?: string }
  /**
   * `start`: the agent and the task queue of a conversation that its first message starts, as the part of a URL after
   * `?`.
   */
  | { at: 'conversation'; session: string; start?: string }
  /** A screen without parameters. The list of the screens says which there are. */
  | { at: 'named'; name: string }
  /** A place that the page does not have. */
  | { at: 'nowhere'; place: string };

/** The route of a fragment such as `#/turns/t1/calls/1.2`. */
export function parseRoute(fragment: string): Route {
  const place = fragment.replace(/^#\/?/, '');
  const [path = '', query] = splitAt(place, '?');
  const parts = path.replace(/\/$/, '').split('/').map(decode);
  const [first = '', turn = '', third, last = ''] = parts;
  // A link that signs in does not name a screen.
  if (path === '' || signInCode(fragment) !== undefined) return { at: 'inbox', query };
  if (first === 'conversations' && turn !== '' && parts.length === 2)
    return { at: 'conversation', session: turn, start: query };
  if ((first === 'turns' || first === 'conversations') && parts.length === 1) return { at: first, query };
  if (first !== '' && parts.length === 1) return { at: 'named', name: first };
  if (first === 'turns' && turn !== '' && parts.length === 2) return { at: 'turn', turn };
  const isPart = first === 'turns' && turn !== '' && last !== '' && parts.length === 4;
  if (isPart && third === 'calls') return { at: 'call', turn, callId: last, query };
  return isPart && third === 'steps' ? { at: 'turn', turn, step: last } : { at: 'nowhere', place };
}

function splitAt(text: string, mark: string): [string, string?] {
  const at = text.indexOf(mark);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)];
}

/** The fragment of a route. */
export function hrefOf(route: Route): string {
  switch (route.at) {
    case 'inbox':
      return `#/${queryPart(route.query)}`;
    case 'turns':
    case 'conversations':
      return `#/${route.at}${queryPart(route.query)}`;
    case 'conversation':
      return `#/conversations/${encodeURIComponent(route.session)}${queryPart(route.start)}`;
    case 'turn':
      return `#/turns/${encodeURIComponent(route.turn)}${route.step === undefined ? '' : `/steps/${encodeURIComponent(route.step)}`}`;
    case 'call':
      return callFragment(route.turn, route.callId) + queryPart(route.query);
    case 'nowhere':
      return `#/${route.place}`;
    case 'named':
      return `#/${encodeURIComponent(route.name)}`;
  }
}

function queryPart(query = '') {
  return query === '' ? '' : `?${query}`;
}

/** The parameters as the part of a URL after `?`. Empty parameters are left out. */
export function queryOf(parameters: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value = '']): [string, string][] =>
    value === '' ? [] : [[name, value]],
  );
  return new URLSearchParams(given).toString();
}

/** The parameters with these names, from the part of a URL after `?`. A missing parameter is empty. */
export function parametersOf<K extends string>(query: string, names: readonly K[]): Record<K, string>;
export function parametersOf(query: string, names: readonly string[]): Record<string, string> {
  const given = new URLSearchParams(query);
  return Object.fromEntries(names.map((name) => [name, given.get(name) ?? '']));
}

/** The one-time code of a fragment such as `#code=abc`. */
export function signInCode(fragment: string): string | undefined {
  const code = new URLSearchParams(fragment.replace(/^#/, '')).get('code');
  return code === null || code === '' ? undefined : code;
}

function decode(part: string) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
