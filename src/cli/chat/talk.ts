import { randomUUID } from 'node:crypto';
import type { SendRequest, Session, NewFile } from '../../client';
import type { MessageMode } from '../../contract/turn-states';
import { CountersignError } from '../../contract/errors';
import { shellWord } from '../../contract/text/shell-word';
import { truncate, withText } from '../../history/describe';
import type { TurnEvent } from '../../history/events';
import { type WaitingCall, waitingCall } from '../commands/review';
import type { Context } from '../context';
import { retryWhileUnavailable } from '../../client/inbox/live';
import { escapeLines } from '../../contract/text/escape';
import { eventLines } from '../print/event';
import { pendingLines } from '../print/turn';
import { Prompt } from '../review/prompt';
import type { Keyboard } from '../review/terminal';
import { watchSilence } from '../watch-turn';
import { type Chat, type ChatEvent, endOf, followChat, noteWaits } from './follow';
import { Shown } from './shown';
import { LIMITS } from '../../contract/limits';
import { readAttached } from '../attached-file';
import { sizeText } from '../../contract/text/bytes';
import { counted } from '../../history/labels';
import type { TurnView } from '../../history/view';

/** How a conversation at the terminal ended: with the session, by a word of the person, or by Ctrl-C. */
type ChatEnd = 'ended' | 'left' | 'interrupted';

/** Talks with an agent at a terminal until the person leaves or the session ends. Running turns continue. */
export async function chatAtTerminal(chat: Chat, keyboard: Keyboard, context: Context): Promise<ChatEnd> {
  return new Talk(chat, keyboard, context).run();
}

class Talk {
  private readonly session: Session;
  private readonly context: Context;
  private readonly prompt: Prompt;
  private readonly shown: Shown;
  private readonly stop = new AbortController();
  private readonly mine = new Set<string>();
  private readonly asks: WaitingCall[] = [];
  private readonly silence: ReturnType<typeof watchSilence>;
  private asked: WaitingCall | undefined;
  private readonly outgoing = new Outgoing();
  private follows = false;
  private turn: string | undefined;
  private lastTurn: string | undefined;
  private interrupted = false;
  private finish: (end: ChatEnd) => void = () => undefined;
  private fail: (error: unknown) => void = () => undefined;

  constructor(
    private readonly chat: Chat,
    keyboard: Keyboard,
    context: Context,
  ) {
    this.session = chat.session;
    this.prompt = new Prompt(keyboard, {
      onText: (text) => this.typed(text),
      onInterrupt: () => this.interrupt(),
      onEnd: () => this.finish('left'),
    });
    this.context = { ...context, screen: this.prompt.above(context.screen) };
    this.shown = new Shown(chat, this.context);
    this.silence = watchSilence(() => this.noteSilence());
    this.lastTurn = chat.before?.turns.at(-1)?.turn;
  }

  async run(): Promise<ChatEnd> {
    const { before, session } = this.chat;
    this.shown.quiet(`session ${session.id}; /help lists the commands`);
    if (before) this.shown.beginning(before);
    const over = new Promise<ChatEnd>((resolve, reject) => {
      this.finish = resolve;
      this.fail = reject;
    });
    const leave = () => this.finish('interrupted');
    process.once('SIGTERM', leave).once('SIGHUP', leave);
    if (before) this.follow();
    this.prompt.show();
    try {
      const end = await over;
      this.interrupted = true;
      const dropped = new Promise<unknown>((resolve) => (this.finish = resolve));
      if (end !== 'ended') await this.outgoing.rest(dropped, (text) => this.shown.quiet(text));
      return end;
    } finally {
      process.removeListener('SIGTERM', leave).removeListener('SIGHUP', leave);
      this.stop.abort();
      this.silence.end();
      this.prompt.close();
    }
  }

  private tell(error: unknown): void {
    if (this.stop.signal.aborted) return;
    if (!(error instanceof CountersignError)) return this.fail(error);
    const { screen, typed } = this.context;
    const text = [error.message, ...(error.hint === undefined ? [] : [typed(error.hint)])].join('\n');
    screen.lines(escapeLines(text, screen.style.mark).map(screen.style.bad));
  }

  private typed(text: string): void {
    this.interrupted = false;
    if (text.trim() !== '') {
      const [, name = '', words = ''] = /^\/(\S+)\s*([^]*)$/.exec(text) ?? [];
      if (!text.startsWith('/')) this.say(text, 'queue');
      else this.command(name, words).catch((error: unknown) => this.tell(error));
    }
    void this.askNext();
  }

  private say(text: string, mode: MessageMode): void {
    const files = this.outgoing.files.splice(0);
    const message = { text, files, mode, messageId: randomUUID(), sender: this.chat.name };
    this.mine.add(message.messageId);
    this.outgoing.add(() => this.send(message).catch((error: unknown) => this.tell(error)));
  }

  /** Sends a message, and tries again while the server is away. The message has an id, so it counts only once. */
  private async send(message: SendRequest): Promise<void> {
    const note = (text: string) => this.shown.quiet(text);
    const { signal } = this.stop;
    this.shown.sent(await retryWhileUnavailable(() => this.session.send(message), { note, signal }));
    this.follow();
  }

  private async command(name: string, words: string): Promise<void> {
    const { session, chat, context } = this;
    const act = { sender: chat.name };
    switch (name) {
      case 'help':
        return context.screen.lines(HELP_LINES);
      case 'steer':
      case 'interrupt':
        if (words.trim() === '') return this.shown.quiet(`/${name} needs words`);
        return this.say(words, name);
      case 'file':
        return this.shown.quiet(await this.outgoing.attach(words.trim()));
      case 'pause':
      case 'resume':
      case 'compact':
      case 'close':
        return session[name](act);
      case 'exit':
        return this.finish('left');
      case 'pending':
        return this.pending();
      case 'history':
        return this.shown.all(await session.history());
      case 'fork':
        return this.shown.quiet(
          this.lastTurn === undefined
            ? 'there is no turn yet'
            : context.command(`fork ${shellWord(this.lastTurn)} --at 1`),
        );
      case 'model':
      case 'tools':
      case 'cost':
        return this.shown.figures(name, this.follows);
      default:
        return this.shown.quiet(
          `there is no command /${name}; /help lists them. A blank before it makes it words.`,
        );
    }
  }

  /** Asks again about all calls that wait, and says what is running. */
  private async pending(): Promise<void> {
    const { turn, chat } = this;
    if (turn === undefined) return this.shown.quiet('no turn runs');
    const open = waitingIn(await chat.client.view(turn), chat.agent);
    this.asks.splice(0, this.asks.length, ...open);
    const running = pendingLines(await chat.client.pendingActivities(turn), Date.now());
    this.shown.quiet([`${open.length} wait for you`, ...running].join('\n'));
    await this.askNext();
  }

  private interrupt(): void {
    if (this.interrupted) return this.finish('interrupted');
    if (this.turn === undefined && this.prompt.isTyping()) return this.prompt.drop();
    this.interrupted = true;
    const isRunning = this.turn !== undefined;
    this.shown.quiet(
      `${isRunning ? 'the running turn is being cancelled; ' : ''}Ctrl-C once more leaves, the session goes on`,
    );
    if (isRunning)
      this.session.cancelTurn({ sender: this.chat.name }).catch((error: unknown) => this.tell(error));
  }

  private follow(): void {
    if (this.follows) return;
    this.follows = true;
    const read = async () => {
      for await (const event of followChat(this.chat, { signal: this.stop.signal, mine: this.mine })) {
        this.silence.broken();
        this.take(event);
      }
    };
    read().catch((error: unknown) => this.fail(error));
  }

  private take(event: ChatEvent): void {
    switch (event.type) {
      case 'message':
        if (!this.mine.has(event.messageId)) this.shown.said(event);
        return;
      case 'turn_started':
        this.turn = this.lastTurn = event.turn;
        this.interrupted = false;
        return this.shown.quiet(`${event.turn}: ${truncate(event.prompt)}${withText(event.files)}`);
      case 'turn_event':
        this.turn ??= event.turn;
        return this.takeOfTurn(event.turn, event.event);
      case 'turn_text':
        return this.shown.piece(event.delta);
      case 'turn_ended':
        this.turn = undefined;
        this.asks.length = 0;
        this.prompt.withdraw();
        if (event.status !== 'answered') this.shown.quiet(endOf(event.status, event.error));
        return this.shown.text(event.answer ?? '');
      case 'message_refused':
      case 'control':
        return this.shown.controlled(event);
      case 'compacted':
      case 'compaction_failed':
        return this.shown.compacted(event);
      case 'session_ended':
        this.shown.over(event);
        return this.finish('ended');
    }
  }

  private takeOfTurn(turn: string, event: TurnEvent): void {
    const { screen } = this.context;
    switch (event.type) {
      case 'turn_started':
      case 'thinking':
      case 'turn_ended':
        return;
      case 'step':
        return this.shown.text(event.text);
      case 'request_opened':
      case 'question_opened':
      case 'in_doubt':
        this.asks.push(waitingCall(event, { turn, agent: this.chat.agent }));
        screen.lines(eventLines(event, screen));
        if (this.prompt.isTyping()) this.shown.quiet('it is asked about once your line is sent');
        return void this.askNext();
      default:
        screen.lines(eventLines(event, screen));
        if ('callId' in event && event.callId === this.asked?.callId) this.prompt.withdraw();
    }
  }

  /**
   * Asks about the next call that waits. Does not ask while the person is typing, because their line would count as the
   * answer.
   */
  private async askNext(): Promise<void> {
    if (this.asked || this.prompt.isTyping() || this.stop.signal.aborted) return;
    const next = (this.asked = this.asks.shift());
    if (next === undefined) return;
    try {
      await this.prompt.questions(() => this.shown.ask(next, this.prompt));
    } catch (error) {
      this.tell(error);
    } finally {
      this.asked = undefined;
    }
    await this.askNext();
  }

  /** Says why nothing happens, if the person expects something to happen. */
  private async noteSilence(): Promise<void> {
    const { turn, asked, outgoing, chat } = this;
    if (asked || (turn === undefined && outgoing.count === 0)) return;
    await noteWaits(chat, turn, (line) => this.shown.quiet(this.context.typed(line)));
  }
}

/** Messages that are being sent, one after the other. */
class Outgoing {
  /** The number of messages that are not sent yet. */
  count = 0;
  /** The files to send with the next message. */
  readonly files: NewFile[] = [];
  private last: Promise<void> = Promise.resolve();

  /**
   * Adds a file to the next message. An empty path drops all files. Returns a line that says which files will be sent.
   */
  async attach(path: string): Promise<string> {
    const { files } = this;
    if (path === '') files.length = 0;
    else if (files.length < LIMITS.filesPerMessage) files.push(await readAttached(path));
    else return `a message has at most ${LIMITS.filesPerMessage} files`;
    const names = files.map(({ name, bytes }) => `${name} (${sizeText(bytes.byteLength)})`);
    return names.length === 0 ? 'no file goes along' : `with your next message: ${names.join(', ')}`;
  }

  /** `send` must not reject. */
  add(send: () => Promise<void>): void {
    this.count += 1;
    this.last = this.last.then(send).finally(() => (this.count -= 1));
  }

  /** Waits for the messages that were typed before the person left. The wait ends when `dropped` resolves. */
  async rest(dropped: Promise<unknown>, note: (text: string) => void): Promise<void> {
    if (this.count === 0) return;
    note(`sending ${counted(this.count, 'message')}; Ctrl-C drops what is not sent yet`);
    await Promise.race([this.last, dropped]);
    if (this.count > 0) note(`${counted(this.count, 'message')} dropped`);
  }
}

/** The calls of a turn that wait for a person. */
function waitingIn({ turn, requests, questions, inDoubt }: TurnView, agent: string): WaitingCall[] {
  return [...questions, ...requests, ...inDoubt].map((opened) => waitingCall(opened, { turn, agent }));
}

/** The lines that `/help` prints. */
const HELP_LINES = [
  'What you type is a message; it waits for the next turn while one runs. A line that ends in \\ goes on.',
  '/steer <words>      the running turn reads them before its next step',
  '/interrupt <words>  the running turn is cancelled, the next one is about them',
  '/file <path>        the file goes with your next message; without a path none does',
  '/pending            what waits for you, and what runs now',
  '/history            the conversation so far',
  '/model  /tools      the model that answers, the tools it used',
  '/cost               tokens so far, and what they cost',
  '/fork               the command that tries the last turn another way',
  '/compact            a summary takes the place of all turns but the last',
  '/pause  /resume     no further turn starts, or does again',
  '/close              end the session after the running turn',
  '/exit               leave; the session goes on (Ctrl-D too)',
  'Ctrl-C cancels the running turn; once more, it leaves.',
];
