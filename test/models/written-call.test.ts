import { writtenCall } from '../../src/models/written-call';

const TOOLS = ['read_file', 'edit_file', 'files__list', 'search'];
const ARGS = '{"path":"a"}';

it.each([
  ['Hermes', `<tool_call>\n{"name": "read_file", "arguments": ${ARGS}}\n</tool_call>`],
  ['Hermes after words', `Let me look.\n<tool_call>{"name":"read_file","arguments":${ARGS}}</tool_call>`],
  ['Hermes without an end', `<tool_call>{"name":"read_file","arguments":${ARGS}}`],
  ['Hermes in a fence', `\`\`\`xml\n<tool_call>{"name":"read_file","arguments":${ARGS}}</tool_call>\n\`\`\``],
  [
    'Qwen Coder',
    '<tool_call>\n<function=read_file>\n<parameter=path>\na\n</parameter>\n</function>\n</tool_call>',
  ],
  ['GLM', '<tool_call>read_file\n<arg_key>path</arg_key>\n<arg_value>a</arg_value>\n</tool_call>'],
  ['Llama with a tag', `<function=read_file>${ARGS}</function>`],
  ['Llama with a tag and a name', `<function name="read_file">${ARGS}</function>`],
  ['Llama in JSON', `{"name": "read_file", "parameters": ${ARGS}}`],
  ['Llama with a mark', `<|python_tag|>{"name": "read_file", "parameters": ${ARGS}}`],
  ['Llama with a line', `<|python_tag|>read_file.call(path="a")`],
  ['Mistral', `[TOOL_CALLS] [{"name": "read_file", "arguments": ${ARGS}}]`],
  ['Mistral with arguments', `[TOOL_CALLS]read_file[ARGS]${ARGS}`],
  ['LM Studio', `[TOOL_REQUEST]{"name":"read_file","arguments":${ARGS}}[END_TOOL_REQUEST]`],
  [
    'Claude',
    '<function_calls>\n<invoke name="read_file">\n<parameter name="path">a</parameter>\n</invoke>\n</function_calls>',
  ],
  [
    'DeepSeek',
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read_file\n```json\n{}\n```<｜tool▁call▁end｜>',
  ],
  [
    'Kimi',
    `<|tool_calls_section_begin|><|tool_call_begin|>functions.read_file:0<|tool_call_argument_begin|>${ARGS}<|tool_call_end|>`,
  ],
  ['channels', `<|channel|>commentary to=functions.read_file <|constrain|>json<|message|>${ARGS}`],
  ['Granite', `<|tool_call|>[{"name":"read_file","arguments":${ARGS}}]`],
  ['Phi', `functools[{"name":"read_file","arguments":${ARGS}}]`],
  ['Gemma', 'call:read_file{path:"a"}'],
  ['Cline', '<read_file>\n<path>a</path>\n</read_file>'],
  ['ReAct', 'Thought: look\nAction: read_file\nAction Input: {"path":"a"}'],
  ['a list', `[{"name":"read_file","arguments":${ARGS}}]`],
  ['lines', `{"name":"read_file","arguments":${ARGS}}\n{"name":"search","arguments":{}}`],
  ['a fence', `\`\`\`json\n{"name":"read_file","arguments":${ARGS}}\n\`\`\``],
  ['the wire', `{"tool_calls":[{"type":"function","function":{"name":"read_file","arguments":"{}"}}]}`],
  ['another spelling', `{"tool": "read_file", "tool_input": ${ARGS}}`],
  ['a key', `{"read_file": ${ARGS}}`],
  ['Python', 'read_file(path="a")'],
  ['a list of Python', '[read_file(path="a")]'],
  ['Python that prints', '```tool_code\nprint(default_api.read_file(path="a"))\n```'],
])('is found in the spelling of %s', (_, text) => {
  expect(writtenCall(text, TOOLS)).toBe('read_file');
});

it.each([
  ['words', 'I read the file with read_file, and it is empty.'],
  ['nothing', ''],
  ['a call of no tool of the agent', `<tool_call>{"name":"other","arguments":${ARGS}}</tool_call>`],
  ['JSON with a name', '{"name": "search", "total": 3}'],
  ['JSON with other keys', '{"search": 3}'],
  ['a list of numbers', '[1, 2]'],
  ['an explanation', 'Servers turn this into a call:\n```\n<tool_call>{"name":"read_file"}</tool_call>\n```'],
  ['quoted marks', 'The mark `<tool_call>` begins a call of read_file.'],
  ['code about it', 'Use read_file(path) and then edit_file(path).'],
  ['markup', '<p>read_file</p>'],
])('is not found in %s', (_, text) => {
  expect(writtenCall(text, TOOLS)).toBeUndefined();
});
