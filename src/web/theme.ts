/** `system` follows the setting of the operating system. */
export type Theme = 'system' | 'light' | 'dark';

const KEY = 'countersign.theme';

/** The theme that was chosen in this browser. */
export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  } catch {
    return 'system';
  }
}

/** Stores the theme. Without storage the theme follows the system each time. */
export function storeTheme(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return;
  }
}
