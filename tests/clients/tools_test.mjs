// Calls of tools through the helpers of the official packages: the clients run the functions and
// send back what came of them. The simulated model calls what a message tells it to call.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { betaZodTool } from '@anthropic-ai/sdk/helpers/beta/zod';
import { zodFunction, zodResponseFormat, zodResponsesFunction, zodTextFormat } from
    'openai/helpers/zod';
import { z } from 'zod';

import { anthropicOf, callers, openaiOf, Server, user } from './server.mjs';

let server;
let openai;
let anthropic;

before(async () => {
  server = await Server.start(callers);
  openai = openaiOf(server);
  anthropic = anthropicOf(server);
});
after(() => server?.stop());

const parameters = {
  type: 'object', properties: { city: { type: 'string' } }, required: ['city'],
  additionalProperties: false,
};
const tools = [
  { type: 'function', function: { name: 'weather', description: 'Of a city', parameters } },
  { type: 'function', function: { name: 'clock', parameters: { type: 'object', properties: {} } } },
];
const twoCalls = 'call weather {"city": "Zürich"}\ncall clock';

// The names and arguments of chat calls.
const named = (calls) => calls.map(({ function: { name, arguments: text } }) =>
  [name, JSON.parse(text)]);
const expected = [['weather', { city: 'Zürich' }], ['clock', {}]];

test('calls come whole and in a stream, several in one answer', async () => {
  const body = { model: 'sim', temperature: 0, messages: user(twoCalls), tools };
  const whole = await openai.chat.completions.create(body);
  assert.equal(whole.choices[0].finish_reason, 'tool_calls');
  assert.equal(whole.choices[0].message.content, null);
  const calls = whole.choices[0].message.tool_calls;
  assert.deepEqual(named(calls), expected);
  assert.notEqual(calls[0].id, calls[1].id);

  const pieces = [];
  for await (const chunk of await openai.chat.completions.create({ ...body, stream: true })) {
    for (const piece of chunk.choices[0].delta.tool_calls ?? []) pieces.push(piece);
  }
  for (const index of [0, 1]) {
    const own = pieces.filter((piece) => piece.index === index);
    assert.equal(own.filter((piece) => piece.id).length, 1, 'the first piece has the id');
    assert.equal(own[0].function.arguments, '', 'arguments follow the name');
    const text = own.map((piece) => piece.function.arguments ?? '').join('');
    assert.deepEqual([own[0].function.name, JSON.parse(text)], expected[index]);
  }

  const final = await openai.chat.completions.stream(body).finalChatCompletion();
  assert.equal(final.choices[0].finish_reason, 'tool_calls');
  assert.deepEqual(named(final.choices[0].message.tool_calls), expected);
});

test('one call at a time, and none', async () => {
  const body = { model: 'sim', temperature: 0, messages: user(twoCalls), tools };
  const one = await openai.chat.completions.create({ ...body, parallel_tool_calls: false });
  assert.deepEqual(named(one.choices[0].message.tool_calls), expected.slice(0, 1));
  const none = await openai.chat.completions.create({ ...body, tool_choice: 'none' });
  assert.equal(none.choices[0].message.tool_calls, undefined);
  assert.equal(none.choices[0].finish_reason, 'stop');
});

for (const stream of [false, true]) {
  test(`runTools runs them until there is an answer${stream ? ', in streams' : ''}`, async () => {
    const ran = [];
    const runner = openai.chat.completions.runTools({
      model: 'sim', temperature: 0, messages: user(twoCalls), stream,
      tools: [
        zodFunction({
          name: 'weather', parameters: z.object({ city: z.string() }),
          function: ({ city }) => { ran.push(city); return `rain in ${city}`; },
        }),
        { type: 'function',
          function: { name: 'clock', parameters: { type: 'object', properties: {} },
                      parse: JSON.parse, function: () => { ran.push('clock'); return 'noon'; } } },
      ],
    });
    const text = await runner.finalContent();
    assert.deepEqual(ran, ['Zürich', 'clock']);
    assert.ok(text.length > 0);
    assert.deepEqual(runner.messages.map(({ role }) => role),
        ['user', 'assistant', 'tool', 'tool', 'assistant']);
  });
}

test('arguments are parsed by a strict schema', async () => {
  const completion = await openai.chat.completions.parse({
    model: 'sim', temperature: 0, messages: user('call weather {"city": "Bern"}'),
    tools: [zodFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })],
  });
  assert.deepEqual(completion.choices[0].message.tool_calls[0].function.parsed_arguments,
      { city: 'Bern' });
});

test('an answer with what the client added to it is sent back as it came', async () => {
  const body = {
    model: 'sim', temperature: 0, messages: user('call weather {"city": "Bern"}'),
    tools: [zodFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })],
  };
  const { message } = (await openai.chat.completions.parse(body)).choices[0];
  assert.ok(message.tool_calls[0].function.parsed_arguments);
  const second = await openai.chat.completions.create({
    ...body,
    messages: [
      { ...user('call weather {"city": "Bern"}')[0], name: 'ann' },
      { ...message, id: 'm1', name: 'planner', reasoning_details: [{ type: 'x' }] },
      { role: 'tool', tool_call_id: message.tool_calls[0].id, content: '21 degrees' },
      { role: 'assistant', content: [{ type: 'text', text: 'Warm.', annotations: [{}] }] },
      ...user('Thanks.'),
    ],
  });
  assert.ok(second.choices[0].message.content.length > 0);

  const asked = { model: 'sim', max_tokens: 200, temperature: 0, tools: anthropicTools };
  const first = user('call weather {"city": "Bern"}');
  const reply = await anthropic.messages.create({ ...asked, messages: first });
  const call = reply.content.find(({ type }) => type === 'tool_use');
  const last = await anthropic.messages.create({
    ...asked,
    messages: [...first, reply, { role: 'user', content: [
      { type: 'tool_result', tool_use_id: call.id, content: '21 degrees' }] }],
  });
  assert.ok(last.usage.output_tokens > 0);
});

// The packages put the parsed arguments into the answer, and send them back with it.
const Weather = { name: 'weather', parameters: z.object({ city: z.string() }) };
const Place = z.object({ city: z.enum(['Bern', 'Rome']) });

for (const stream of [false, true]) {
  test(`parsed answers go back as they came${stream ? ', from streams' : ''}`, async () => {
    const messages = user('call weather {"city": "Bern"}');
    const plain = user('call weather {"city": "Bern"}');
    const ask = async (more) => {
      const body = { model: 'sim', temperature: 0, messages, ...more,
                     ...(stream && { stream_options: { include_usage: true } }) };
      const { choices: [{ message }], usage } = stream
          ? await openai.chat.completions.stream(body).finalChatCompletion()
          : await openai.chat.completions.parse(body);
      messages.push(message);
      const { role, content, tool_calls: calls } = message;
      plain.push({ role, content, ...(calls && { tool_calls: calls.map(
        ({ id, type, function: { name, arguments: text } }) =>
          ({ id, type, function: { name, arguments: text } })) }) });
      return { message, usage };
    };
    const say = (message) => { messages.push(message); plain.push(message); };

    const { message: { tool_calls: [call] } } = await ask({ tools: [zodFunction(Weather)] });
    assert.deepEqual(call.function.parsed_arguments, { city: 'Bern' });
    say({ role: 'tool', tool_call_id: call.id, content: 'rain' });
    await ask({ tools: [zodFunction(Weather)] });
    say({ role: 'user', content: 'Where?' });
    const { message: place } = await ask({ response_format: zodResponseFormat(Place, 'place') });
    Place.parse(place.parsed);
    say({ role: 'user', content: 'Thank you' });
    const bare = await openai.chat.completions.create({ model: 'sim', messages: plain });
    const { usage } = await ask({});
    assert.equal(usage.prompt_tokens, bare.usage.prompt_tokens);
  });
}

test('responses: parsed answers go back as they came', async () => {
  const input = user('call weather {"city": "Bern"}');
  const ask = async (more) => {
    const response = await openai.responses.parse({ model: 'sim', temperature: 0, input, ...more });
    input.push(...response.output);
    return response;
  };
  const { output: [call] } = await ask({ tools: [zodResponsesFunction(Weather)] });
  assert.deepEqual(call.parsed_arguments, { city: 'Bern' });
  input.push({ type: 'function_call_output', call_id: call.call_id, output: 'rain' });
  await ask({ tools: [zodResponsesFunction(Weather)] });
  input.push(...user('Where?'));
  Place.parse((await ask({ text: { format: zodTextFormat(Place, 'place') } })).output_parsed);
  input.push(...user('Thank you'));
  assert.ok((await ask({})).output_text.length > 0);
});

test('messages: a whole answer goes back as it came', async () => {
  const body = { model: 'sim', max_tokens: 200, temperature: 0, tools: anthropicTools };
  const messages = user(twoCalls);
  const answer = await anthropic.messages.create({ ...body, messages });
  const results = { role: 'user', content: answer.content.map(({ id }) =>
    ({ type: 'tool_result', tool_use_id: id, content: 'fine' })) };
  const { role, content } = answer;
  const [whole, bare] = await Promise.all([answer, { role, content }].map((echo) =>
    anthropic.messages.countTokens({ model: 'sim', tools: anthropicTools,
                                     messages: [...messages, echo, results] })));
  assert.equal(whole.input_tokens, bare.input_tokens);
});

test('a real model reads tools and results, and answers', async () => {
  const messages = [
    ...user('How is the weather?'),
    { role: 'assistant', content: null, tool_calls: [
      { id: 'call_1', type: 'function',
        function: { name: 'weather', arguments: '{"city":"Bern"}' } },
      { id: 'call_2', type: 'function', function: { name: 'clock', arguments: '{}' } }] },
    { role: 'tool', tool_call_id: 'call_1', content: 'rain' },
    { role: 'tool', tool_call_id: 'call_2', content: [{ type: 'text', text: 'noon' }] },
  ];
  const body = { model: 'chat', temperature: 0, max_tokens: 12, messages };
  const without = await openai.chat.completions.create(body);
  const reply = await openai.chat.completions.create({ ...body, tools });
  assert.ok(reply.usage.prompt_tokens > without.usage.prompt_tokens, 'the tools are in the prompt');
  const none = await openai.chat.completions.create({ ...body, tools, tool_choice: 'none' });
  assert.equal(none.usage.prompt_tokens, without.usage.prompt_tokens);
});

test('responses: calls, their results, and events', async () => {
  const functions = tools.map(({ function: { name, parameters: schema } }) =>
    ({ type: 'function', name, parameters: schema, strict: false }));
  const body = { model: 'sim', temperature: 0, input: user(twoCalls), tools: functions };
  const response = await openai.responses.create(body);
  const calls = response.output.filter(({ type }) => type === 'function_call');
  assert.deepEqual(calls.map(({ name, arguments: text }) => [name, JSON.parse(text)]), expected);

  const types = [];
  const stream = openai.responses.stream(body);
  let text = '';
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === 'response.function_call_arguments.delta' && event.output_index === 0)
      text += event.delta;
  }
  assert.deepEqual(JSON.parse(text), expected[0][1]);
  assert.equal(types.filter((type) => type === 'response.function_call_arguments.done').length, 2);
  const final = await stream.finalResponse();
  assert.deepEqual(final.output.map(({ name }) => name), ['weather', 'clock']);

  const answer = await openai.responses.create({
    ...body,
    input: [...body.input, ...response.output,
            ...calls.map(({ call_id }) =>
              ({ type: 'function_call_output', call_id, output: 'fine' }))],
  });
  assert.ok(answer.output_text.length > 0);
});

test('responses: parsed arguments', async () => {
  const response = await openai.responses.parse({
    model: 'sim', temperature: 0, input: 'call weather {"city": "Bern"}',
    tools: [zodResponsesFunction({ name: 'weather', parameters: z.object({ city: z.string() }) })],
  });
  assert.deepEqual(response.output[0].parsed_arguments, { city: 'Bern' });
});

const anthropicTools = tools.map(({ function: { name, description, parameters: schema } }) =>
  ({ name, description, input_schema: schema }));

test('messages: blocks of tool_use, whole and gathered from a stream', async () => {
  const body = { model: 'sim', max_tokens: 200, temperature: 0, messages: user(twoCalls),
                 tools: anthropicTools };
  const message = await anthropic.messages.create(body);
  assert.equal(message.stop_reason, 'tool_use');
  assert.deepEqual(message.content.map(({ type, name, input }) => [type, name, input]),
      expected.map(([name, input]) => ['tool_use', name, input]));
  const stream = anthropic.messages.stream(body);
  let json = '';
  stream.on('inputJson', (delta) => { json += delta; });
  const gathered = await stream.finalMessage();
  assert.equal(gathered.stop_reason, 'tool_use');
  assert.deepEqual(gathered.content.map(({ name, input }) => [name, input]), expected);
  assert.ok(json.includes('Zürich'));

  const answer = await anthropic.messages.create({
    ...body,
    messages: [...body.messages, { role: 'assistant', content: message.content },
               { role: 'user', content: message.content.map(({ id }) =>
                 ({ type: 'tool_result', tool_use_id: id, content: 'fine' })) }],
  });
  assert.equal(answer.stop_reason, 'end_turn');
  const one = await anthropic.messages.create(
      { ...body, tool_choice: { type: 'auto', disable_parallel_tool_use: true } });
  assert.equal(one.content.length, 1);
  const none = await anthropic.messages.create({ ...body, tool_choice: { type: 'none' } });
  assert.ok(none.content.every(({ type }) => type === 'text'));
});

for (const stream of [false, true]) {
  test(`messages: the tool runner${stream ? ', in streams' : ''}`, async () => {
    const ran = [];
    const runner = anthropic.beta.messages.toolRunner({
      model: 'sim', max_tokens: 200, temperature: 0, messages: user(twoCalls), stream,
      tools: [
        betaZodTool({ name: 'weather', description: 'Of a city',
                      inputSchema: z.object({ city: z.string() }),
                      run: ({ city }) => { ran.push(city); return 'rain'; } }),
        betaZodTool({ name: 'clock', description: 'Now', inputSchema: z.object({}),
                      run: () => { ran.push('clock'); return 'noon'; } }),
      ],
    });
    const last = await runner.runUntilDone();
    assert.deepEqual(ran.sort(), ['Zürich', 'clock']);
    assert.equal(last.stop_reason, 'end_turn');
    assert.equal(last.content[0].type, 'text');
  });
}
