/**
 * Does a job for everybody who asks for the same: who asks while it is done gets the next result, so that no result is
 * older than its question.
 */
export function createShared<Q, T>(job: (question: Q) => Promise<T>): (question: Q) => Promise<T> {
  const running = new Map<string, Promise<unknown>>();
  const next = new Map<string, Promise<T>>();
  const begin = (key: string, question: Q): Promise<T> => {
    next.delete(key);
    const answer = job(question);
    const ended: Promise<unknown> = answer
      .catch(() => undefined)
      .then(() => running.get(key) === ended && running.delete(key));
    running.set(key, ended);
    return answer;
  };
  return (question) => {
    const key = JSON.stringify(question);
    const before = running.get(key);
    if (before === undefined) return begin(key, question);
    const shared = next.get(key) ?? before.then(() => begin(key, question));
    next.set(key, shared);
    return shared;
  };
}
