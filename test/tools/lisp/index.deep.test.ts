import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isAlive } from '../../../src/system/lock';
import { createExecutor, type Executor } from '../../../src/tools/executor';
import { createLispTools, type LispOptions } from '../../../src/tools/lisp';
import { createRegistry } from '../../../src/tools/registry';
import type { JsonObject } from '../../../src/contract/json';
import type { ToolResult } from '../../../src/contract/result';
import { describeWithLisp, endImage, lispImage, lispStateDir } from '../../support/lisp';
import { until } from '../../support/until';

const TOOLS: Readonly<Record<string, string>> = {
  describe_symbol: 'safe',
  apropos_search: 'safe',
  function_arglist: 'safe',
  who_calls: 'safe',
  who_references: 'safe',
  list_package_symbols: 'safe',
  class_slots: 'safe',
  class_hierarchy: 'safe',
  macroexpand_form: 'safe',
  eval_form: 'dangerous',
  compile_form: 'dangerous',
  get_last_error: 'safe',
  get_repl_history: 'safe',
  read_file: 'safe',
  read_buffer: 'safe',
  search_in_buffer: 'safe',
  write_file: 'dangerous',
  propose_file_edit: 'dangerous',
};

it('has the eighteen tools with the safety of the seed; forms ask unless the config accepts that they run', () => {
  const safeties = (options: LispOptions): object =>
    Object.fromEntries(createLispTools({ root: '.', ...options }).map(({ name, safety }) => [name, safety]));
  expect(safeties({})).toEqual(TOOLS);
  expect(safeties({ evaluate: 'cautious' })).toEqual({
    ...TOOLS,
    eval_form: 'cautious',
    compile_form: 'cautious',
  });
  expect(createLispTools().map(({ name }) => name)).not.toContain('write_file');
});

it.each([
  [{ swank: 'nowhere' }, '`swank` must be host:port'],
  [{ name: '../x' }, '`name` must be of letters'],
  [{ heapMb: 1 }, '`heapMb`'],
  [{ root: '' }, '`root`'],
  [{ timeout: 'soon' }, '`timeout`'],
])('refuses %j', (options, why) => {
  expect(() => createLispTools(options)).toThrow(why);
});

it('refuses in clear words where there is no SBCL, and nothing ran', async () => {
  const tools = createLispTools({
    program: '/nowhere/sbcl',
    stateDir: mkdtempSync(join(tmpdir(), 'countersign-lisp-')),
  });
  const executor = createExecutor({ registry: createRegistry(tools) });
  const result = await executor.execute({ name: 'describe_symbol', arguments: { symbol: 'car' } });
  expect(result).toMatchObject({
    success: false,
    error: {
      code: 'tool',
      message: expect.stringMatching(
        /^The Lisp image could not be started: there is no program "\/nowhere\/sbcl".*apt-get install sbcl cl-swank/,
      ),
    },
  });
});

describeWithLisp('an image of ours', () => {
  const image = lispImage();
  const root = mkdtempSync(join(tmpdir(), 'countersign-lisp-root-'));
  let executor: Executor;
  const use = (options: LispOptions = {}): Executor =>
    createExecutor({
      registry: createRegistry(
        createLispTools({ root, name: image.name, stateDir: lispStateDir, evaluate: 'cautious', ...options }),
      ),
    });
  beforeAll(async () => {
    executor = use();
    await run('describe_symbol', { symbol: 'car' });
  });

  const run = (name: string, args: JsonObject, by = executor): Promise<ToolResult> =>
    by.execute({ name, arguments: args });
  const contentOf = async (name: string, args: JsonObject): Promise<string> => {
    const { success, content, error } = await run(name, args);
    expect({ success, error }).toEqual({ success: true, error: undefined });
    return content;
  };
  const evaluate = (form: string, by = executor): Promise<ToolResult> => run('eval_form', { form }, by);
  const pid = (): number => {
    const record: { token: string } = JSON.parse(readFileSync(join(image.dir, 'image.json'), 'utf8'));
    const place: { pid: number } = JSON.parse(
      readFileSync(join(image.dir, `port-${record.token}.json`), 'utf8'),
    );
    return place.pid;
  };

  describe('questions', () => {
    beforeAll(async () => {
      await contentOf('compile_form', {
        form: `(progn
          (defpackage "SHOP" (:use "COMMON-LISP") (:export "PRICE"))
          (defvar shop::*rate* 19 "Per cent.")
          (defun shop::price (cents &key (rate shop::*rate*)) "With tax." (* cents rate))
          (defun shop::total (list) (reduce #'+ list :key #'shop::price))
          (defun shop::one () (shop::price 1))
          (defmacro shop::twice (form) \`(progn ,form ,form))
          (defclass shop::item () ((name :initarg :name :type string :documentation "What it is.") (left :initform 3)))
          (defclass shop::book (shop::item) ())
          (make-instance 'shop::book))`,
      }).catch(() => undefined);
    });

    it.each<[string, JsonObject, (string | RegExp)[]]>([
      [
        'describe_symbol',
        { symbol: 'defun', package: 'common-lisp' },
        [/^DEFUN \[macro\]\nDocumentation: Define a function/, 'Lambda list: (NAME LAMBDA-LIST &BODY BODY)'],
      ],
      ['describe_symbol', { symbol: 'if' }, ['IF [special operator]']],
      ['describe_symbol', { symbol: 'most-positive-fixnum' }, ['[constant]', 'Value: 4611686018427387903']],
      ['describe_symbol', { symbol: 'print-object' }, ['[generic function]']],
      ['describe_symbol', { symbol: ':key' }, ['KEY [keyword]']],
      ['describe_symbol', { symbol: 'standard-class' }, ['[class]']],
      ['describe_symbol', { symbol: 'error' }, ['[function, condition]']],
      [
        'apropos_search',
        { pattern: 'mapc', package: 'cl' },
        ["symbols matching 'mapc':", 'COMMON-LISP::MAPCAR [function]'],
      ],
      ['function_arglist', { function: 'mapcar' }, ['MAPCAR (FUNCTION LIST &REST MORE-LISTS)']],
      ['list_package_symbols', { package: 'swank/rpc' }, [/^Package SWANK\/RPC \(\d+ symbols?\):/]],
      [
        'class_hierarchy',
        { class: 'arithmetic-error' },
        ['Class Precedence List:\n  ARITHMETIC-ERROR\n  ERROR', '  DIVISION-BY-ZERO'],
      ],
      [
        'macroexpand_form',
        { form: '(when a b)' },
        ['Original:\n(WHEN A B)', 'Expanded (one step):\n(IF A\n    B)'],
      ],
      ['macroexpand_form', { form: '(unless a (when b c))', full: true }, ['Expanded (full):']],
      ['who_references', { variable: 'swank::*sldb-level*' }, ['References to *SLDB-LEVEL*:']],
    ])('%s %j', async (name, args, wanted) => {
      const content = await contentOf(name, args);
      for (const part of wanted)
        if (part instanceof RegExp) expect(content).toMatch(part);
        else expect(content).toContain(part);
    });

    it('know what was compiled a moment ago', async () => {
      await contentOf('eval_form', { form: '(defpackage "SHOP" (:use "COMMON-LISP"))' });
      await contentOf('compile_form', { form: '(defvar *rate* 19 "Per cent.")', package: 'shop' });
      await contentOf('compile_form', {
        form: '(defun price (cents &key (rate *rate*)) "With tax." (* cents rate))',
        package: 'shop',
      });
      await contentOf('compile_form', { form: '(defun one () (price 1))', package: 'shop' });
      await contentOf('compile_form', {
        form: '(defclass item () ((name :initarg :name :type string :documentation "What it is.") (left :initform 3)))',
        package: 'shop',
      });
      await contentOf('compile_form', { form: '(defclass book (item) ())', package: 'shop' });
      expect(await contentOf('describe_symbol', { symbol: 'shop::price' })).toContain(
        'PRICE [function]\nDocumentation: With tax.\nLambda list: (CENTS &KEY (RATE *RATE*))',
      );
      expect(await contentOf('describe_symbol', { symbol: '*rate*', package: 'SHOP' })).toContain(
        'Value: 19',
      );
      expect(await contentOf('who_calls', { function: 'shop::price' })).toMatch(
        /^Functions calling PRICE:\n\n  ONE/,
      );
      expect(await contentOf('who_calls', { function: 'shop::one' })).toBe('No callers found for ONE');
      expect(await contentOf('who_references', { variable: 'shop::*rate*' })).toMatch(
        /^References to \*RATE\*:\n\n  PRICE/,
      );
      expect(await contentOf('class_slots', { class: 'shop::item' })).toContain(
        '  NAME\n    Initarg: :NAME\n    Type: STRING\n    Documentation: What it is.\n  LEFT\n    Initform: 3',
      );
      expect(await contentOf('class_hierarchy', { class: 'item', package: 'shop' })).toContain(
        'Direct Subclasses (1):\n  BOOK',
      );
      expect(await contentOf('list_package_symbols', { package: 'shop', include_internal: true })).toContain(
        '  PRICE [function]',
      );
    });

    it.each([
      [
        'describe_symbol',
        { symbol: 'nonexistent', package: 'common-lisp' },
        'Symbol NONEXISTENT not found in package COMMON-LISP',
      ],
      ['describe_symbol', { symbol: 'car', package: 'no-such' }, 'Package no-such not found'],
      ['function_arglist', { function: '*package*' }, '*PACKAGE* is not a function'],
      ['class_slots', { class: 'car' }, 'CAR is not a class'],
      ['list_package_symbols', { package: 'no-such' }, 'Package no-such not found'],
      ['macroexpand_form', { form: '(a' }, 'The form is not complete: something in it is not closed.'],
      ['macroexpand_form', { form: 'a b' }, 'The text holds more than one form; put them into one PROGN.'],
      ['macroexpand_form', { form: '  ; nothing' }, 'The text holds no form.'],
    ])('%s %j is an error', async (name, args, message) => {
      expect(await run(name, args)).toMatchObject({ success: false, error: { code: 'tool', message } });
    });

    const trap = join(root, 'trap');
    const makes = `(close (open ${JSON.stringify(trap)} :direction :output :if-exists :supersede))`;
    // A macro of SBCL itself that evaluates a part of its form while it expands.
    const vop = `(sb-c:define-vop (foo) (:temporary (:sc sb-vm::any-reg :offset (progn ${makes} 1)) x) (:generator 1))`;
    it.each<[string, JsonObject]>([
      ...['describe_symbol'].flatMap((name): [string, JsonObject][] => [
        [name, { symbol: `#.${makes}` }],
        [name, { symbol: `cl:car #.${makes}` }],
        [name, { symbol: 'car', package: `#.${makes}` }],
        [name, { symbol: '|"|', package: `" ${makes} "` }],
        [name, { symbol: 'car', package: `\\" ${makes}` }],
      ]),
      ['apropos_search', { pattern: `#.${makes}` }],
      ['apropos_search', { pattern: '"', package: `") ${makes}` }],
      ['function_arglist', { function: `#.${makes}` }],
      ['who_calls', { function: `#.${makes}` }],
      ['who_references', { variable: `#.${makes}` }],
      ['list_package_symbols', { package: `#.${makes}` }],
      ['class_slots', { class: `#.${makes}` }],
      ['class_hierarchy', { class: `#.${makes}` }],
      ['macroexpand_form', { form: `#.${makes}` }],
      ['macroexpand_form', { form: `(when a #.${makes})` }],
      ['macroexpand_form', { form: `(when a #1=#.${makes})` }],
      ['macroexpand_form', { form: vop }],
      ['macroexpand_form', { form: `(and ${vop})`, full: true }],
      ['macroexpand_form', { form: `(setf ${vop} 1)` }],
      ['macroexpand_form', { form: `(push 1 ${vop})` }],
      ['macroexpand_form', { form: `(restart-case ${vop} (a () 1))` }],
      ['macroexpand_form', { form: `(when a #S(pathname))` }],
      ['macroexpand_form', { form: `(when a #+#.${makes} b)` }],
      ['macroexpand_form', { form: '(when a #999999999999(1))' }],
    ])('%s %j evaluates nothing', async (name, args) => {
      await run(name, args);
      expect(existsSync(trap)).toBe(false);
    });

    it('macroexpand_form calls no predicate that the form names', async () => {
      await contentOf('eval_form', { form: '(defvar *hits* 0)' });
      await contentOf('eval_form', { form: '(defun trap (x) (declare (ignore x)) (incf *hits*))' });
      for (const type of [
        '(satisfies trap)',
        '(and fixnum (cl:satisfies trap))',
        '(or . ((satisfies trap)))',
      ])
        expect(
          await run('macroexpand_form', { form: `(loop with x of-type ${type} do (print x))` }),
        ).toMatchObject({
          success: false,
          error: { message: expect.stringContaining('names a type by SATISFIES') },
        });
      expect(await contentOf('eval_form', { form: '*hits*' })).toContain('Result:\n0');
      expect(
        await contentOf('macroexpand_form', { form: '(loop for x of-type fixnum in l do (print x))' }),
      ).toContain('TAGBODY');
    });
  });

  describe('forms', () => {
    it('answer values and output, and state is kept between them', async () => {
      await contentOf('eval_form', { form: '(defvar *n* 1)' });
      expect(await contentOf('eval_form', { form: '(progn (princ "hi") (values (incf *n*) "x"))' })).toBe(
        'Evaluated in package COMMON-LISP-USER.\n\nResults:\n2\n"x"\n\nOutput:\nhi',
      );
      expect(await contentOf('eval_form', { form: '(values)' })).toContain('; no value');
      expect(await contentOf('eval_form', { form: '*package*', package: 'cl' })).toContain(
        'package COMMON-LISP.',
      );
    });

    it('compile with notes that have their positions', async () => {
      expect(await contentOf('compile_form', { form: '(defun odd (x)\n  (car missing))' })).toBe(
        'Compiled and loaded in package COMMON-LISP-USER.\nNotes (2):\n' +
          '  1:1: style-warning: The variable X is defined but never used.\n' +
          '  2:3: warning: undefined variable: COMMON-LISP-USER::MISSING',
      );
      expect(await contentOf('compile_form', { form: '(defun even (x) x)' })).toContain('No warnings.');
    });

    it.each([
      ['(/ 1 0)', 'DIVISION-BY-ZERO', 'Error: arithmetic error DIVISION-BY-ZERO signalled'],
      ['(error "own ~A" 1)', 'SIMPLE-ERROR', 'Error: own 1'],
      ['(break "here")', 'SIMPLE-CONDITION', 'Error: here'],
      [
        '(no-such-function)',
        'UNDEFINED-FUNCTION',
        'The function COMMON-LISP-USER::NO-SUCH-FUNCTION is undefined.',
      ],
      ['(read)', 'END-OF-FILE', 'end of file'],
      ['(invoke-debugger (make-condition (quote warning)))', 'WARNING', 'WARNING'],
    ])('%s ends with its condition, not in the debugger', async (form, type, message) => {
      const { success, error } = await evaluate(form);
      expect({ success, code: error?.code }).toEqual({ success: false, code: 'tool' });
      expect(error?.message).toContain(message);
      expect(await contentOf('get_last_error', {})).toContain(type);
      expect((await evaluate('(+ 1 2)')).content).toContain('3');
    });

    it('leave condition, restarts and backtrace for get_last_error', async () => {
      await contentOf('compile_form', {
        form: '(defun fails (x) (restart-case (error "bad ~A" x) (use-zero () :report "Use 0." 0)))',
      });
      const { error } = await evaluate('(list (fails 7))');
      expect(error?.details).toMatchObject({ condition: 'bad 7', restarts: ['USE-ZERO: Use 0.'] });
      const last = await contentOf('get_last_error', {});
      expect(last).toContain('Condition:\n  bad 7\n  [of type SIMPLE-ERROR]');
      expect(last).toContain('Form:\n  (list (fails 7))');
      expect(last).toContain('Restarts:\n  USE-ZERO: Use 0.');
      expect(last).toMatch(/Backtrace:\n  0: \(FAILS 7\)/);
    });

    it.each([
      ['(1', 'The form is not complete'],
      ['1 2', 'more than one form'],
      [')', 'The form cannot be read'],
    ])('%j is refused before anything runs', async (form, message) => {
      const { error } = await evaluate(form);
      expect(error).toMatchObject({
        code: 'tool',
        message: expect.stringMatching(`${message}.*Nothing was evaluated`),
      });
    });

    it('keep a handler of their own', async () => {
      expect(
        await contentOf('eval_form', { form: '(handler-case (error "x") (error () :caught))' }),
      ).toContain(':CAUGHT');
      expect(await contentOf('eval_form', { form: '(signal (make-condition (quote error)))' })).toContain(
        'NIL',
      );
    });

    it('have bounded output', async () => {
      const content = await contentOf('eval_form', { form: '(dotimes (i 100000) (print i))' });
      expect(content).toMatch(/\[\.\.\. \d+ characters left out \.\.\.\]$/);
      const long = await contentOf('eval_form', { form: '(make-list 1000000 :initial-element 1)' });
      expect(long.length).toBeLessThan(30_000);
      expect(await contentOf('eval_form', { form: '(let ((l (list 1))) (setf (cdr l) l) l)' })).toContain(
        '#1=(1 . #1#)',
      );
    });
  });

  describe('an image in trouble', () => {
    const short = use({ timeout: 500 });

    it.each(['(loop)', '(loop (print 1))', '(sleep 100)', '(unwind-protect (loop) (print 1))'])(
      '%s is interrupted, and the image lives on',
      async (form) => {
        const before = pid();
        const result = await evaluate(form, short);
        expect(result.error).toMatchObject({
          code: 'timeout',
          message: expect.stringContaining('it was stopped'),
        });
        expect(pid()).toBe(before);
        expect(await contentOf('get_repl_history', { limit: 1 })).toContain('the form was interrupted');
      },
    );

    it('a form that does not let go ends with its image; the next call has a new one, and the history says so', async () => {
      const before = pid();
      // On a busy machine the end of the image is seen only after the call has ended.
      const { error } = await evaluate('(sb-sys:without-interrupts (loop))', short);
      expect(error?.message).toMatch(/^timed out after 500 ms; .*(the image was ended|is not known)/s);
      await until('the end of the image', () => !isAlive(before));
      expect((await evaluate('(+ 20 22)')).content).toContain('42');
      expect(pid()).not.toBe(before);
      expect(await contentOf('get_repl_history', {})).toMatch(/a new image was started \(process \d+\)/);
    });

    it.each(['(sb-ext:exit :abort t)', '(sb-ext:exit)', '(sb-posix:kill (sb-posix:getpid) 9)'])(
      'the outcome of %s, in which the image dies, is not known; the next call has a new one',
      async (form) => {
        const before = pid();
        const { success, error } = await evaluate(form);
        expect({ success, code: error?.code }).toEqual({ success: false, code: 'transport' });
        expect(error?.message).toMatch(
          /the image was lost while the form ran.*whether it took effect is not known/s,
        );
        expect(await contentOf('get_repl_history', { limit: 1 })).toContain(
          'Result: unknown: the image was lost',
        );
        expect((await evaluate('(+ 20 22)')).content).toContain('42');
        expect(pid()).not.toBe(before);
      },
    );

    it.each([
      ['heap', '(let (l) (loop (push (make-array 1000000) l)))'],
      ['stack', '(labels ((f (x) (cons (f x) 1))) (f 1))'],
    ])('a full %s is a condition or the end of the image, and the next form runs', async (_what, form) => {
      const { error } = await evaluate(form);
      expect(['tool', 'transport']).toContain(error?.code);
      expect(await contentOf('get_last_error', {})).toContain(form);
      expect((await evaluate('(+ 20 22)')).content).toContain('42');
    });

    it('an image that died between two calls is started anew without a word but that of the history', async () => {
      const before = pid();
      await endImage(image.dir);
      await until('its end', () => !isAlive(before));
      const again = await until('an answer', async () => {
        const result = await run('describe_symbol', { symbol: 'car' });
        return result.success && result;
      });
      expect(again.content).toContain('CAR [function]');
      expect(pid()).not.toBe(before);
    });
  });

  it('outlives whoever started it, and is found again with its state', async () => {
    await contentOf('eval_form', { form: '(defvar *kept* 4711)' });
    const before = pid();
    const another = use();
    expect((await evaluate('*kept*', another)).content).toContain('4711');
    expect(pid()).toBe(before);
    expect((await run('get_repl_history', {}, another)).content).toContain('(defvar *kept* 4711)');
  });

  it('takes many calls at once', async () => {
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) => evaluate(`(progn (sleep 0.0${n % 5}) (* ${n} ${n}))`)),
    );
    expect(results.map(({ content }) => /Result:\n(\d+)/.exec(content)?.[1])).toEqual(
      results.map((_, n) => String(n * n)),
    );
  });

  it('lets nobody in who does not know the secret, and goes on for those who do', async () => {
    const record: { token: string } = JSON.parse(readFileSync(join(image.dir, 'image.json'), 'utf8'));
    const { port }: { port: number } = JSON.parse(
      readFileSync(join(image.dir, `port-${record.token}.json`), 'utf8'),
    );
    const stranger = mkdtempSync(join(tmpdir(), 'countersign-lisp-'));
    writeFileSync(join(stranger, 'secret'), 'wrong\n', { mode: 0o600 });
    const swank = { swank: `127.0.0.1:${port}`, stateDir: stranger, secretFile: join(stranger, 'secret') };
    const refused = await Promise.all(
      Array.from({ length: 6 }, () =>
        run('describe_symbol', { symbol: 'car' }, use({ ...swank, timeout: 3000 })),
      ),
    );
    expect(refused.map(({ success }) => success)).toEqual(refused.map(() => false));
    expect((await run('describe_symbol', { symbol: 'car' }, use())).success).toBe(true);
  });

  it('can be attached to, with its secret', async () => {
    const record: { token: string; secret: string } = JSON.parse(
      readFileSync(join(image.dir, 'image.json'), 'utf8'),
    );
    const { port }: { port: number } = JSON.parse(
      readFileSync(join(image.dir, `port-${record.token}.json`), 'utf8'),
    );
    const folder = mkdtempSync(join(tmpdir(), 'countersign-lisp-'));
    const secretFile = join(folder, 'secret');
    writeFileSync(secretFile, `${record.secret}\n`, { mode: 0o600 });
    const attached = use({ swank: `127.0.0.1:${port}`, secretFile, stateDir: folder });
    expect((await evaluate('(sb-posix:getpid)', attached)).content).toContain(String(pid()));
  });

  it('reads and searches buffers: files of the folder, and the REPL', async () => {
    mkdirSync(join(root, 'src'), { recursive: true });
    writeFileSync(join(root, 'src', 'a.lisp'), '(defun a ()\n  1)\n(defun b ()\n  (a))\n');
    expect(await contentOf('read_buffer', { buffer: 'src/a.lisp', start: 2, end: 7 })).toBe('defun');
    expect(await contentOf('search_in_buffer', { buffer: 'src/a.lisp', pattern: 'defun' })).toBe(
      'Found 2 matches for \'defun\':\n\nLine 1, Position 2: "defun"\nLine 3, Position 19: "defun"',
    );
    expect(
      await contentOf('search_in_buffer', {
        buffer: 'src/a.lisp',
        pattern: '\\(a\\)',
        regex: true,
        all_matches: false,
      }),
    ).toContain('Line 4');
    expect(await contentOf('search_in_buffer', { buffer: 'src/a.lisp', pattern: 'zebra' })).toBe(
      "No matches found for 'zebra'",
    );
    expect(await contentOf('read_buffer', {})).toContain('Recent REPL History');
    expect((await run('read_buffer', { buffer: '../x' })).error?.message).toContain('outside the workspace');
    expect((await run('read_buffer', { buffer: 'src/a.lisp', start: 99 })).error?.message).toContain(
      'is not in it',
    );
  });
});
