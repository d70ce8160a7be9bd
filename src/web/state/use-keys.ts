import { useEffect, useRef } from 'preact/hooks';

/** What single keys do, by `event.key`. */
export type Keys = Readonly<Record<string, () => void>>;

/** Listens to single keys, unless something is being typed or a dialog is open. A key that is held down counts once. */
export function useKeys(keys: Keys): void {
  const current = useRef(keys);
  current.current = keys;
  useEffect(() => {
    const take = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.repeat || hasModifier(event)) return;
      if (isTyping(event.target) || isPressing(event)) return;
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

/** Enter on a button or a link is that button's or link's. */
function isPressing({ key, target }: KeyboardEvent): boolean {
  return key === 'Enter' && target instanceof HTMLElement && target.matches('a, button, input');
}
