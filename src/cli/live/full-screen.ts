/** A terminal that is drawn on as a whole. */
export interface FullScreen {
  /** Replaces what is there; lines that have no room are counted instead. Give it lines that fit the width. */
  draw(lines: readonly string[]): void;
  /** Gives the terminal back as it was. */
  close(): void;
}

interface Canvas {
  write(text: string): unknown;
  rows?: number | undefined;
}

const ENTER = '\x1b[?1049h\x1b[?25l';
const LEAVE = '\x1b[?25h\x1b[?1049l';
const HOME = '\x1b[H';
const REST_OF_LINE = '\x1b[K';
const REST_OF_SCREEN = '\x1b[J';

/** Takes the terminal over: a page of its own, without a cursor. */
export function openFullScreen(canvas: Canvas): FullScreen {
  canvas.write(ENTER);
  return {
    draw: (lines) => {
      const drawn = fitted(lines, canvas.rows || 24).map((line) => line + REST_OF_LINE);
      canvas.write(HOME + drawn.join('\r\n') + REST_OF_SCREEN);
    },
    close: () => void canvas.write(LEAVE),
  };
}

function fitted(lines: readonly string[], rows: number): string[] {
  if (lines.length <= rows) return [...lines];
  const kept = lines.slice(0, Math.max(1, rows - 1));
  return [...kept, `… ${lines.length - kept.length} more lines; make the window higher, or filter`];
}
