// The server through Vercel's AI SDK, by each of its providers that can speak to it. Settings are
// those of docs/clients.md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embedMany, generateObject, generateText, isStepCount, Output, streamText, tool,
         ToolLoopAgent } from 'ai';
import { z } from 'zod';

import { allCalls, check, demo, functions, recorder, screening, startServers,
         turns } from './conversation.mjs';
import { models } from './server.mjs';

let servers;
let server;

before(async () => {
  servers = await startServers('--model', `embed=${models}/bert-f32.gguf`, ...demo);
  [server] = servers;
});
after(() => Promise.all((servers ?? []).map((one) => one.stop())));

// A model by one of the providers, and what becomes of its requests.
function connect(name, id = 'sim') {
  const { exchanges, fetch } = recorder();
  const common = { baseURL: `${server.url}/v1`, apiKey: 'none', fetch };
  const model = {
    compatible: () => createOpenAICompatible({ name: 'windrow', includeUsage: true,
                                               supportsStructuredOutputs: true, ...common })(id),
    chat: () => createOpenAI(common).chat(id),
    responses: () => createOpenAI(common)(id),
    messages: () => createAnthropic(common)(id),
  }[name]();
  return { model, exchanges };
}

const limits = { maxOutputTokens: 400, maxRetries: 0, temperature: 0 };
const instructions = 'You are brief.';
// Without this, the provider for Anthropic asks a model it does not know for an object by a forced
// call.
const providerOptions = { anthropic: { structuredOutputMode: 'outputFormat' } };

function tools({ weather, clock }) {
  return {
    weather: tool({ description: 'Of a city', inputSchema: z.object({ city: z.string() }),
                    execute: weather }),
    clock: tool({ description: 'The time', inputSchema: z.object({}), execute: clock }),
  };
}

// The result of a call, whole or streamed; an error in a stream is thrown here.
async function generate(stream, options) {
  if (!stream) {
    const result = await generateText(options);
    return { text: result.text, messages: result.responseMessages,
             output: options.output && result.output };
  }
  let failure;
  const result = streamText({ ...options, onError: ({ error }) => { failure = error; } });
  await result.consumeStream();
  if (failure !== undefined) throw failure;
  return { text: await result.text, messages: await result.responseMessages,
           output: options.output && await result.output };
}

for (const name of ['compatible', 'chat', 'responses', 'messages']) {
  test(`${name}: texts, whole and streamed`, async () => {
    const { model } = connect(name);
    const whole = await generateText({ model, prompt: 'Say hello', ...limits });
    assert.ok(whole.text.length > 0);
    const stream = streamText({ model, prompt: 'Say hello', ...limits });
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    assert.ok(text.length > 0);
    assert.equal((await stream.usage).inputTokens, whole.usage.inputTokens);
  });

  for (const stream of [false, true]) {
    test(`${name}${stream ? ', streamed' : ''}: three turns, the messages sent back`, async () => {
      const { model, exchanges } = connect(name);
      const { ran, ...own } = functions();
      const answers = [];
      const messages = [];
      for (const { says } of turns) {
        messages.push({ role: 'user', content: says });
        const result = await generate(stream, {
          model, instructions, messages, tools: tools(own),
          stopWhen: isStepCount(3), ...limits });
        answers.push(result.text);
        messages.push(...result.messages);
      }
      await check(servers, { exchanges, ran, answers, system: instructions, compact: true });
    });

    test(`${name}${stream ? ', streamed' : ''}: tools first, then an object`, async () => {
      const place = z.object({ city: z.enum(['Bern', 'Rome']), wet: z.boolean() });
      const { model } = connect(name);
      const { ran, ...own } = functions();
      const messages = [];
      for (const { says } of turns) {
        messages.push({ role: 'user', content: says });
        const result = await generate(stream, {
          model, messages, tools: tools(own), stopWhen: isStepCount(4),
          output: Output.object({ schema: place }), providerOptions, ...limits });
        place.parse(result.output);
        messages.push(...result.messages);
      }
      assert.deepEqual(ran, allCalls);
    });
  }

  test(`${name}: an effort is taken, of models that know none, too`, async () => {
    const { model } = connect(name);
    const body = { model, prompt: 'Say hello', ...limits };
    const plain = await generateText(body);
    const { usage } = await generateText({ ...body, providerOptions: {
      windrow: { reasoningEffort: 'low' }, openai: { reasoningEffort: 'low', forceReasoning: true },
      anthropic: { effort: 'low' } } });
    assert.equal(usage.inputTokens, plain.usage.inputTokens);
  });

  test(`${name}: an object`, async () => {
    const place = z.object({ city: z.enum(['Paris', 'Rome']) });
    const { model } = connect(name);
    const { object } = await generateObject({ model, prompt: 'Where?', schema: place, ...limits });
    place.parse(object);
  });
}

for (const name of ['compatible', 'responses']) {
  test(`${name}: thoughts are sent back`, async () => {
    const { model, exchanges } = connect(name, 'demo');
    const messages = [];
    for (const candidate of screening.candidates) {
      messages.push({ role: 'user', content: candidate });
      const { responseMessages, usage } = await generateText(
          { model, instructions: screening.system, messages, temperature: 0, maxRetries: 0,
            maxOutputTokens: 192 });
      if (messages.length === 1) assert.ok(usage.outputTokenDetails.reasoningTokens > 0);
      messages.push(...responseMessages);
    }
    const last = exchanges.at(-1).body;
    const thoughts = (last.messages ?? last.input).filter(
        ({ reasoning_content: own, type, id }) => own ?? (type === 'item_reference' &&
                                                          id.startsWith('rs_')));
    assert.equal(thoughts.length, 2, JSON.stringify(last));
  });
}

test('responses: an agent of the SDK, by previousResponseId', async () => {
  const { model, exchanges } = connect('responses');
  const { ran, ...own } = functions();
  const agent = new ToolLoopAgent({ model, tools: tools(own), ...limits });
  const answers = [];
  let previousResponseId;
  for (const { says } of turns) {
    const result = await agent.generate(
        { prompt: says, providerOptions: { openai: { previousResponseId } } });
    answers.push(result.text);
    previousResponseId = result.steps.at(-1).providerMetadata.openai.responseId;
  }
  // Within a turn the SDK sends its own copy of a call, with the arguments written again.
  await check(servers, { exchanges, ran, answers, compact: true });
});

test('embeddings', async () => {
  const provider = createOpenAICompatible(
      { name: 'windrow', baseURL: `${server.url}/v1`, apiKey: 'none' });
  const { embeddings } = await embedMany(
      { model: provider.embeddingModel('embed'), values: ['a', 'b'], maxRetries: 0 });
  assert.equal(embeddings.length, 2);
});
