import { useEffect, useState } from 'preact/hooks';

/** `system` follows the machine. */
export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEY = 'countersign.theme';

/** The theme and how to choose another; the choice stays in this browser. */
export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState<Theme>(stored);
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    store(theme);
  }, [theme]);
  return [theme, setTheme];
}

function stored(): Theme {
  try {
    return THEMES.find((theme) => theme === localStorage.getItem(KEY)) ?? 'system';
  } catch {
    return 'system';
  }
}

/** A browser that keeps nothing asks the machine each time. */
function store(theme: Theme): void {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    return;
  }
}
