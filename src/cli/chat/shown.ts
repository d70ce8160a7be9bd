import type { SentMessage } from '../../client';
import { CountersignError } from '../../contract/errors';
import type { TextDelta } from '../../contract/streamed-text';
import { addUsage, sumUsage } from '../../contract/spending/usage';
import { describeFile } from '../../contract/text/bytes';
import { truncate, withText } from '../../history/describe';
import { counted, describeUsage } from '../../history/labels';
import type {
  MessageReceived,
  SessionCompacted,
  SessionControlled,
  SessionEnded,
  SessionNotCompacted,
  SessionTurn,
  MessageRefused,
} from '../../history/session/events';
import type { SessionView } from '../../history/session/view';
import { reviewOne, type WaitingCall } from '../commands/review';
import { summaryLines } from '../commands/show';
import type { Context } from '../context';
import { escapeLines, escapeProse, escapeText } from '../../contract/text/escape';
import { limitsText } from '../print/turn';
import { type Prompt, Withdrawn } from '../review/prompt';
import { Interrupted } from '../review/terminal';
import { type Chat, endOf } from './follow';

/** The number of turns that are shown at the beginning, and the most lines of each answer. */
const LAST_TURNS = 3;
const LAST_LINES = 12;

/** The most turns that are read for a sum. In a longer session, the last turns are read. */
const MOST_READ = 200;

/** Shows a conversation to a person: words, answers and figures. */
export class Shown {
  private lastText = '';
  /** The text of the unfinished reply so far, and how many of its characters are shown. */
  private written = '';
  private shownTo = 0;
  /** The step of the unfinished reply. */
  private writtenIn = 0;
  /** Texts of the model that were shown in full before the turn recorded them. */
  private readonly early = new Set<string>();

  constructor(
    private readonly chat: Chat,
    private readonly context: Context,
  ) {}

  /** Shows the message of another person. */
  said({ sender = 'somebody', text, files }: MessageReceived): void {
    this.line(`${escapeText(sender)}: ${escapeProse(`${truncate(text)}${withText(files)}`)}`);
  }

  /**
   * Shows an act on the session, or a message that the session refused. A person who cancels a turn here has already
   * read about the end of the turn.
   */
  controlled(event: SessionControlled | MessageRefused): void {
    if (event.type === 'message_refused')
      return this.quiet(`the session did not take a message: ${event.code}`);
    const { action, sender, refused } = event;
    if (sender === this.chat.name && action === 'cancel_turn') return;
    const why = refused === undefined ? '' : ': there is nothing to summarize';
    this.quiet(`${action.replace('_', ' ')} by ${sender ?? 'somebody'}${why}`);
  }

  over({ status, error }: SessionEnded): void {
    this.quiet(`the session is over: ${status}${error === undefined ? '' : `: ${error}`}`);
  }

  /** Shows that turns were summarized, or why nothing was summarized. */
  compacted(event: SessionCompacted | SessionNotCompacted): void {
    if (event.type === 'compaction_failed') return this.quiet(`nothing was summarized: ${event.error}`);
    this.quiet(`${counted(event.turns, 'turn')} summarized by ${event.model}; /history shows the summary`);
  }

  /** Shows the whole conversation. */
  all({ turns, summary }: SessionView): void {
    const { screen } = this.context;
    this.turns(turns);
    if (summary) screen.lines(summaryLines(summary).map(screen.style.quiet));
  }

  /** Shows the last turns of an existing session. */
  beginning({ turns }: SessionView): void {
    this.turns(turns.slice(-LAST_TURNS), LAST_LINES);
  }

  /** Shows a text that is not part of the conversation. */
  quiet(text: string): void {
    const { screen } = this.context;
    screen.lines(escapeLines(text, screen.style.mark).map(screen.style.quiet));
  }

  /** Shows turns that are over. */
  turns(turns: readonly SessionTurn[], most = Infinity): void {
    const { screen } = this.context;
    for (const { prompt = '', files = [], answer, status, error } of turns) {
      const lines = escapeLines(answer ?? endOf(status, error), screen.style.mark, 'prose');
      const more = lines.length > most ? [`… ${lines.length - most} more lines; /history shows all`] : [];
      const said = [prompt, ...files.map((file) => `[${describeFile(file)}]`)].join('\n');
      const asked = escapeLines(said, screen.style.mark, 'prose').map((line) => `> ${line}`);
      screen.lines([...asked, ...lines.slice(0, most), ...more, ''].map(screen.style.quiet));
    }
  }

  /** Shows what happened to a message, if the conversation does not show it. */
  sent(sent: SentMessage): void {
    if (sent.status === 'recorded') return this.quiet('on record; it takes effect when a worker returns');
    const texts = {
      started: undefined,
      queued: 'it waits for its turn; /interrupt would cancel the running one, /steer tell it at once',
      steering: 'the running turn reads it before its next step',
      interrupting: 'the running turn is being cancelled for it',
    };
    const text = texts[sent.outcome];
    if (text !== undefined) this.quiet(text);
  }

  /**
   * Shows the model's text while the model writes it: each line as soon as it is complete. If an attempt starts again,
   * a line reports it.
   */
  piece({ step, at, text }: TextDelta): void {
    if (step !== this.writtenIn) this.nextStep(step);
    const shown = this.written.slice(0, this.shownTo);
    this.written = this.written.slice(0, at) + text;
    if (!this.written.startsWith(shown)) {
      this.shownTo = 0;
      this.quiet('… the model writes it again, from the beginning');
    }
    this.show(this.written.lastIndexOf('\n') + 1);
  }

  /**
   * Shows the text of a finished reply, each text once. If the text was shown while the model wrote it, only the
   * rest is shown.
   */
  text(text: string): void {
    const words = text.trimEnd();
    const shown = this.written.slice(0, this.shownTo);
    if (this.early.delete(words)) return;
    if (words === '' || words === this.lastText) return this.forget();
    this.lastText = words;
    if (this.shownTo > 0 && !words.startsWith(shown.trimEnd())) {
      this.quiet('… the finished reply is another one:');
      this.shownTo = 0;
    }
    this.written = words;
    this.show(words.length);
    this.line('');
    this.forget();
  }

  /** Shows the written text up to the character at `end`. */
  private show(end: number): void {
    if (end <= this.shownTo) return;
    const { screen } = this.context;
    const more = this.written.slice(this.shownTo, end).trimEnd();
    screen.lines([...(this.shownTo === 0 ? [''] : []), ...escapeLines(more, screen.style.mark, 'prose')]);
    this.shownTo = end;
  }

  /** Finishes the text of a step. In a burst, the next step is written before the step before is recorded. */
  private nextStep(step: number): void {
    const words = this.written.trimEnd();
    this.writtenIn = step;
    if (step === 1) this.early.clear();
    if (words === '') return this.forget();
    this.early.add(words);
    this.show(words.length);
    this.line('');
    this.forget();
  }

  private forget(): void {
    this.written = '';
    this.shownTo = 0;
  }

  line(text: string): void {
    this.context.screen.line(text);
  }

  async figures(name: 'model' | 'tools' | 'cost', isThere: boolean): Promise<void> {
    const view = isThere ? await this.chat.session.history() : undefined;
    const { turns = [], summaryUsage = {} } = view ?? {};
    const read = await Promise.all(turns.slice(-MOST_READ).map(({ turn }) => this.stepsOf(turn)));
    const known = read.filter((one) => one !== undefined);
    const lost = turns.length - known.length;
    const steps = known.flatMap((view) => view.steps);
    const of = lost === 0 ? '' : ` (${lost} turns are not counted: older, or not on record any more)`;
    if (name === 'model') return this.quiet(steps.at(-1)?.model ?? 'no model has answered yet');
    if (name === 'tools') {
      const tools = [...new Set(known.flatMap((view) => view.calls.map(({ tool }) => tool)))].sort();
      return this.quiet(`used so far: ${tools.join(', ') || 'none'}${of}`);
    }
    const usage = describeUsage(addUsage(sumUsage(steps), summaryUsage)) || 'no tokens were counted';
    this.quiet(`${usage}; ${counted(steps.length, 'step')}${of}`);
    const limits = view && limitsText(view);
    if (limits !== undefined) this.quiet(`the session has spent ${limits}`);
  }

  /** The view of a turn. Undefined if the turn's retention is over. */
  private stepsOf(turn: string) {
    return this.chat.client.view(turn).catch((error: unknown) => {
      if (error instanceof CountersignError && error.code === 'not_found') return undefined;
      throw error;
    });
  }

  /** Shows a call that waits, and lets the person decide it. */
  async ask(call: WaitingCall, prompt: Prompt): Promise<void> {
    const { chat, context } = this;
    const review = { client: chat.client, approver: chat.name, context, terminal: prompt };
    const later = 'it stays undecided; /pending asks again';
    try {
      const way = await reviewOne(review, call, {
        heading: `${call.turn}/${call.callId} waits for you`,
        moves: ['next', 'show'],
      });
      if (way === 'next') this.quiet(later);
    } catch (error) {
      if (error instanceof Withdrawn) this.quiet(error.message);
      else if (error instanceof Interrupted) this.quiet(later);
      else throw error;
    }
  }
}
