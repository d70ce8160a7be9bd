/** A test that has waited for a while looks less often: each look is work of the server that it waits for. */
const FIRST_MS = 20;
const MOST_MS = 120;

/** Waits until `look` gives something; fails after 60 s, or as many as said, with what it waited for. */
export async function until<T>(
  what: string,
  look: () => Promise<T | undefined | false> | T | undefined | false,
  seconds = 60,
): Promise<T> {
  const deadline = performance.now() + seconds * 1000;
  for (let pause = FIRST_MS; ; pause = Math.min(pause * 1.3, MOST_MS)) {
    const found = await look();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`waited ${seconds} s for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
