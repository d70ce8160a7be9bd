import { useEffect, useRef } from 'preact/hooks';

/** What single keys do, by `event.key`. */
export type Keys = Readonly<Record<string, () => void>>;

/** Listens to single keys, unless something is being typed or a dialog is open. A key that is held down counts once. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const take = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.repeat || hasModifier(event) || isTyping(event.target)) return;
      const act = Object.hasOwn(current.current, event.key) ? current.current[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    addEventListener('keydown', take);
    return () => removeEventListener('keydown', take);
  }, []);
}

function hasModifier({ ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  return ctrlKey || metaKey || altKey;
}

function isTyping(target: EventTarget | null): boolean {
  if (document.querySelector('dialog[open]') !== null) return true;
  if (!(target instanceof HTMLElement)) return false;
  return target.matches('textarea, select, input:not([type=checkbox]):not([type=radio])');
}
