import type { LogLevel } from '../../src/tools/call-log';
import { defineTool, type ToolOptions } from '../../src/tools/define-tool';
import type { Parameters, Tool } from '../../src/tools/types';

/** A tool of which a test says only what matters. */
export function makeTool<P extends Parameters>(
  options: Partial<ToolOptions<P>> & Pick<ToolOptions<P>, 'parameters'>,
): Tool;
export function makeTool(options?: Partial<ToolOptions>): Tool;
export function makeTool(options: Partial<ToolOptions> = {}): Tool {
  return defineTool({
    name: 'echo',
    description: 'Says it again.',
    parameters: [],
    handler: (args) => args,
    ...options,
  });
}

/** A logger that keeps its lines. */
export function keepLines() {
  const lines: string[] = [];
  const levels: LogLevel[] = [];
  return {
    lines,
    levels,
    log(level: LogLevel, message: string) {
      lines.push(message);
      levels.push(level);
    },
  };
}

/** A promise and the function that resolves it. */
export function gate<T = void>(): { opened: Promise<T>; open(value: T): void } {
  let open: (value: T) => void = () => undefined;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open: (value) => open(value) };
}
