import type { Page } from 'playwright-core';

/** Everything that can be used and that a screen reader could not name. */
export function unnamedIn(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const textOf = (id) => document.getElementById(id)?.textContent ?? '';
    const nameOf = (element) =>
      element.getAttribute('aria-label') ??
      (element.getAttribute('aria-labelledby') ?? '').split(' ').map(textOf).join(' ').trim();
    const labels = (element) => [...(element.labels ?? [])].map((label) => label.textContent).join(' ');
    const used = 'a, button, input, select, textarea, [role=img], section[aria-labelledby], dialog[open], fieldset';
    return [...document.querySelectorAll(used)]
      .filter((element) => element.checkVisibility())
      .filter((element) => {
        const inner = element.matches('a, button') ? element.textContent : element.querySelector('legend')?.textContent;
        return [nameOf(element), labels(element), inner ?? ''].join('').trim() === '';
      })
      .map((element) => element.outerHTML.slice(0, 120));
  })()`);
}

/** Every text whose colour is too near to its ground: WCAG's ratio, over the grounds that really lie behind it. */
export function contrastsIn(page: Page, least: number): Promise<string[]> {
  return page.evaluate<string[]>(`(() => {
    const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const paint = (colors) => {
      canvas.clearRect(0, 0, 1, 1);
      for (const color of colors) {
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
      }
      return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
    };
    const light = (rgb) => {
      const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const grounds = (element) =>
      element === null ? [] : [...grounds(element.parentElement), getComputedStyle(element).backgroundColor];
    const texts = [...document.querySelectorAll('#app *')].filter((element) =>
      element.checkVisibility({ opacityProperty: true }) &&
      [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim() !== ''));
    // Words on the bars of the picture have an outline of their own.
    return texts.filter((element) => !element.matches('.bar-words, :disabled')).flatMap((element) => {
      const behind = grounds(element);
      const ground = light(paint(behind));
      const text = light(paint([...behind, getComputedStyle(element).color]));
      const ratio = (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
      return ratio >= ${least} ? [] : [ratio.toFixed(2) + ' ' + element.outerHTML.slice(0, 100)];
    });
  })()`);
}
