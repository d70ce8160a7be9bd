/** What a model reads of a call: its result, after a note on what a person changed or said. */
export function noteBefore(note: string | undefined, result: unknown): unknown {
  if (note === undefined) return result;
  if (result === undefined) return note;
  return typeof result === 'string' ? `${note}\n\n${result}` : { note, result };
}
