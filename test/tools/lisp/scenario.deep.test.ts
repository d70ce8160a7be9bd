import type { ModelRequest } from '../../../src/models/model';
import type { JsonObject } from '../../../src/contract/json';
import { scriptedModel, type ScriptedStep } from '../../../src/models/scripted';
import { defineAgent } from '../../../src/tools/define-agent';
import { createLispTools } from '../../../src/tools/lisp';
import type { TranscriptEntry } from '../../../src/contract/transcript';
import { startFixture, type Fixture, type TurnHandle } from '../../support/fixture';
import { describeWithLisp, lispImage, lispStateDir } from '../../support/lisp';
import { readBack, scriptBook, toolTexts } from '../../support/script-book';
import { decide, resolve, seenOf, transcriptOf, waitFor } from '../../support/turns';

/** The scenario "Safe Tool Execution" of the first seed: its steps, its variants and its postconditions. */
describeWithLisp('the scenario of a safe Lisp tool', () => {
  const image = lispImage();
  const QUESTION = 'What does the function `defun` do?';
  const ANSWER =
    'DEFUN is a macro in Common Lisp used to define functions. It takes a function name, a lambda list (parameters), and a body of expressions...';
  const NOT_FOUND = "I couldn't find that symbol. Could you check the spelling?";
  const requests: ModelRequest[] = [];
  const book = scriptBook();
  let fixture: Fixture;

  const keep =
    (reply: Exclude<ScriptedStep, Error>): ScriptedStep =>
    (request) => {
      requests.push(request);
      return typeof reply === 'function' ? reply(request) : reply;
    };

  beforeAll(async () => {
    // `*package*` of the scenario is COMMON-LISP: its first variant looks a symbol up without a package.
    const options = { root: '.', name: image.name, stateDir: lispStateDir, package: 'common-lisp' };
    const call = {
      id: 'call_abc123',
      name: 'describe_symbol',
      arguments: '{"symbol": "defun", "package": "common-lisp"}',
    };
    const scenario = scriptedModel([keep({ toolCalls: [call] }), keep({ text: ANSWER })]);
    const about = { instructions: 'You help with Lisp.', tools: createLispTools(options) };
    fixture = await startFixture({
      agents: [
        defineAgent({ ...about, name: 'lisper', model: scenario }),
        defineAgent({ ...about, name: 'variants', model: book.model }),
      ],
    });
  });

  const resultsOf = async (handle: TurnHandle) =>
    (await transcriptOf(handle)).flatMap((entry: TranscriptEntry) =>
      entry.kind === 'result' ? [entry] : [],
    );

  it('goes through its steps, and holds its postconditions', async () => {
    const handle = await fixture.start('lisper', QUESTION);
    const result = await handle.result();
    const [first, second] = requests;
    // Preconditions: eighteen tools, their schemas, the user's words.
    expect(first?.tools).toHaveLength(18);
    expect(first?.tools.find(({ function: { name } }) => name === 'describe_symbol')).toMatchObject({
      type: 'function',
      function: {
        parameters: {
          required: ['symbol'],
          properties: { symbol: { type: 'string' }, package: { type: 'string' } },
        },
      },
    });
    expect(first?.messages).toEqual([{ role: 'user', content: QUESTION }]);
    // Steps 1 to 6: the call, and its result under its id.
    expect(await resultsOf(handle)).toEqual([
      {
        kind: 'result',
        callId: '1.1',
        id: 'call_abc123',
        tool: 'describe_symbol',
        success: true,
        content: expect.stringMatching(
          /^DEFUN \[macro\]\nDocumentation: Define a function.*\nLambda list: \(NAME LAMBDA-LIST &BODY BODY\)\n/,
        ),
      },
    ]);
    // Step 7: the model gets it as the answer to its call.
    expect(second?.messages.slice(1)).toMatchObject([
      { role: 'assistant', content: '', toolCalls: [{ id: 'call_abc123', name: 'describe_symbol' }] },
      {
        role: 'tool',
        toolCallId: 'call_abc123',
        content: expect.stringMatching(/^DEFUN \[macro\]\nDocumentation: Define a function/),
      },
    ]);
    // Step 8 and the postconditions: an answer, and nobody was asked.
    expect(result).toMatchObject({
      status: 'answered',
      answer: ANSWER,
      counts: { calls: 1, failed: 0, requests: 0, denied: 0 },
    });
  });

  it('variant 1: a symbol that is not there', async () => {
    const asked = { id: 'call_xyz', name: 'describe_symbol', arguments: { symbol: 'nonexistent' } };
    const prompt = book.add({ toolCalls: [asked] }, (request) => ({
      text: toolTexts(request)[0]?.endsWith('Symbol NONEXISTENT not found in package COMMON-LISP')
        ? NOT_FOUND
        : 'found',
    }));
    const handle = await fixture.start('variants', prompt);
    expect(await handle.result()).toMatchObject({
      status: 'answered',
      answer: NOT_FOUND,
      counts: { failed: 1 },
    });
    expect(await resultsOf(handle)).toMatchObject([
      {
        id: 'call_xyz',
        success: false,
        content: 'Error [tool]: Symbol NONEXISTENT not found in package COMMON-LISP',
      },
    ]);
  });

  it('variant 2: several tools, one after the other, each by itself', async () => {
    const steps: { name: string; arguments: JsonObject }[] = [
      { name: 'describe_symbol', arguments: { symbol: 'find-package' } },
      { name: 'function_arglist', arguments: { function: 'find-package' } },
      { name: 'who_calls', arguments: { function: 'find-package' } },
    ];
    const prompt = book.add(...steps.map((call) => ({ toolCalls: [call] })), readBack);
    const { answer, counts } = await (await fixture.start('variants', prompt)).result();
    expect(counts).toMatchObject({ calls: 3, failed: 0, requests: 0 });
    expect(answer).toMatch(
      /^FIND-PACKAGE \[function\][^]*\| FIND-PACKAGE \(PACKAGE-DESIGNATOR\) \| Functions calling FIND-PACKAGE:/,
    );
  });

  it('a form waits for a person, who sees it; one in which the image dies is in doubt, and the next has an image', async () => {
    const form = (text: string) => ({
      toolCalls: [{ name: 'eval_form', arguments: { form: text, package: 'cl-user' } }],
    });
    const prompt = book.add(form('(+ 1 2)'), form('(sb-ext:exit :abort t)'), form('(* 6 7)'), readBack);
    const handle = await fixture.start('variants', prompt);
    const approve = async (callId: string): Promise<void> => {
      await waitFor(handle, callId);
      const seen = await seenOf(handle, callId);
      expect(await decide(handle, { callId, ...seen, decision: 'approved', approver: 'ann' })).toMatchObject({
        accepted: true,
      });
    };
    await approve('1.1');
    await approve('2.1');
    await waitFor(handle, '2.1', 'in_doubt');
    expect(await resolve(handle, { callId: '2.1', resolution: 'did-not', approver: 'ann' })).toMatchObject({
      accepted: true,
    });
    await approve('3.1');
    const { answer, counts } = await handle.result();
    expect(counts).toMatchObject({ requests: 3, inDoubt: 1 });
    expect(answer).toContain('Result:\n3');
    expect(answer).toContain('Result:\n42');
  });
});
