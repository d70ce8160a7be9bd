import type { Memory } from '../conversation';

/**
 * The memory of a worker that forgets nothing of one burst: what is missing would be read from the turn, and the turn
 * does not have the steps of a burst that is not over.
 */
export function burstMemory(memory: Memory): Memory {
  const transcripts = new Map<string, Parameters<Memory['remember']>[1]>();
  const contents = new Map<string, string>();
  return {
    transcript: (run, replyId) => {
      const known = transcripts.get(run);
      return known?.replyId === replyId ? known : memory.transcript(run, replyId);
    },
    remember: (run, remembered) => {
      transcripts.set(run, remembered);
      memory.remember(run, remembered);
    },
    content: (digest) => contents.get(digest) ?? memory.content(digest),
    keepContent: (digest, content) => {
      contents.set(digest, content);
      memory.keepContent(digest, content);
    },
  };
}
