type Stop = () => Promise<void>;

const stops: Stop[] = [];

/** Has something ended with the run, whatever that ends by: what was started last ends first. Gives a function that ends it before. */
export function endWithRun(stop: Stop): Stop {
  let ended: Promise<void> | undefined;
  const once: Stop = () => (ended ??= stop());
  stops.push(once);
  return once;
}

/** Ends what still runs. */
export async function endAll(): Promise<void> {
  for (const stop of stops.splice(0).reverse()) await stop();
}
