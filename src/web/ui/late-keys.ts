/** For this long after a field with the focus went away, keys are meant for that field. Milliseconds. */
const LATE_MS = 2_000;

const FIELD = 'textarea, select, input:not([type=checkbox]):not([type=radio])';

/** Whether a person types into this element. */
export function isField(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches(FIELD);
}

let field: Element | undefined;
let lateUntil = 0;

/** Watches the field that has the focus, so that `isLate` knows when it went away. */
export function watchFields(): void {
  addEventListener('focusin', ({ target }) => {
    field = target instanceof Element && isField(target) ? target : undefined;
  });
  // A browser may say that a field lost the focus while it takes the field away.
  addEventListener('focusout', () =>
    queueMicrotask(() => {
      if (field?.isConnected === true && document.activeElement !== field) field = undefined;
    }),
  );
  new MutationObserver(() => {
    if (field === undefined || field.isConnected) return;
    field = undefined;
    lateUntil = Date.now() + LATE_MS;
  }).observe(document, { childList: true, subtree: true });
  addEventListener(
    'keydown',
    (event) => {
      // Whoever types on without looking has not seen yet that the field went away.
      if (isLate() && isLetter(event)) lateUntil = Date.now() + LATE_MS;
    },
    { capture: true },
  );
}

/** Whether a key may still be meant for a field that went away. */
export function isLate(): boolean {
  return Date.now() < lateUntil;
}

/** Whether a key writes a character. */
function isLetter({ key, ctrlKey, metaKey, altKey }: KeyboardEvent) {
  return key.length === 1 && !ctrlKey && !metaKey && !altKey;
}

/** The button that a shortcut focused. */
let byShortcut: HTMLElement | undefined;

/** Moves the focus to the button that decides. Until the focus moves on, only Enter presses the button. */
export function focusToDecide(): void {
  const button = document.getElementById('approve');
  button?.focus();
  byShortcut = button ?? undefined;
}

/**
 * The handlers of the button that decides. A letter shows that the person types, so it takes the focus away that a
 * shortcut gave.
 */
export const TO_DECIDE = {
  onBlur: (): void => {
    byShortcut = undefined;
  },
  onKeyDown: (event: KeyboardEvent): void => {
    if (event.currentTarget !== byShortcut || !isLetter(event)) return;
    if (event.key === ' ') event.preventDefault();
    else byShortcut?.blur();
  },
  // Some browsers press a button when the blank is let go.
  onKeyUp: (event: KeyboardEvent): void => {
    if (event.currentTarget === byShortcut && event.key === ' ') event.preventDefault();
  },
};
