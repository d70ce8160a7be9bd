/** What a process of a stack answers; see ./host.cjs. */
export interface Answers {
  run(about: { steps: number; bytes: number }): Promise<number>;
  decide(): Promise<number>;
  kill(about: { file: string }): Promise<unknown>;
  recover(about: { file: string }): Promise<unknown>;
}

export function host(answers: Partial<Answers>): void;

export function reply(
  messages: readonly { role: string }[],
  steps: number,
): {
  role: 'assistant';
  content: string;
  toolCalls: { id: string; name: string; arguments: { n: number } }[];
};

export function text(bytes: number): string;

export function effectThenKill(file: string, lines: number): void;

export function starts(): { tell(key: string): void; next(key: string): Promise<number> };
