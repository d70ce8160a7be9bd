import { useEffect, useState } from 'preact/hooks';

/** Whether this tab is in front. */
export function useVisible(): boolean {
  const [isVisible, setVisible] = useState(!document.hidden);
  useEffect(() => {
    const take = (): void => setVisible(!document.hidden);
    document.addEventListener('visibilitychange', take);
    return () => document.removeEventListener('visibilitychange', take);
  }, []);
  return isVisible;
}
