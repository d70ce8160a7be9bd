import { useEffect, useState } from 'preact/hooks';
import { hrefOf, parseRoute, type Route } from '../model/route';

/** Where the person is. */
export function useRoute(): Route {
  const [route, setRoute] = useState<Route>(() => parseRoute(location.hash));
  useEffect(() => {
    const take = (): void => setRoute(parseRoute(location.hash));
    addEventListener('hashchange', take);
    // It may have changed since the first drawing.
    take();
    return () => removeEventListener('hashchange', take);
  }, []);
  return route;
}

/** Goes to another place. */
export function goTo(route: Route): void {
  location.hash = hrefOf(route);
}
