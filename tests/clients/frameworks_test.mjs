// The server through two frameworks that speak to it by clients of their own: Vercel's AI SDK and
// LangChain. Settings are those of docs/clients.md.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { ChatAnthropic } from '@langchain/anthropic';
import { tool as langchainTool } from '@langchain/core/tools';
import { ChatOpenAI, OpenAIEmbeddings } from '@langchain/openai';
import { embedMany, generateObject, generateText, stepCountIs, streamText, tool } from 'ai';
import { z } from 'zod';

import { models, Server } from './server.mjs';

let server;
let providers;

before(async () => {
  server = await Server.start(['--model', 'sim=sim:instant,answer-tokens=8',
                               '--model', `embed=${models}/bert-f32.gguf`]);
  const baseURL = `${server.url}/v1`;
  const openai = createOpenAI({ baseURL, apiKey: 'none' });
  providers = {
    compatible: createOpenAICompatible({ name: 'windrow', baseURL, apiKey: 'none',
                                         includeUsage: true, supportsStructuredOutputs: true }),
    chat: openai.chat,
    responses: openai,
    messages: createAnthropic({ baseURL, apiKey: 'none' }),
  };
});
after(() => server?.stop());

const asked = 'call weather {"city": "Bern"}';
const place = z.object({ city: z.enum(['Paris', 'Rome']) });

for (const name of ['compatible', 'chat', 'responses', 'messages']) {
  const limits = { maxOutputTokens: 100, maxRetries: 0 };

  test(`AI SDK, ${name}: texts, whole and streamed`, async () => {
    const model = providers[name]('sim');
    const whole = await generateText({ model, prompt: 'Say hello', ...limits });
    assert.ok(whole.text.length > 0);
    const stream = streamText({ model, prompt: 'Say hello', ...limits });
    let text = '';
    for await (const piece of stream.textStream) text += piece;
    assert.ok(text.length > 0);
    assert.equal((await stream.usage).inputTokens, whole.usage.inputTokens);
  });

  test(`AI SDK, ${name}: tools run until there is an answer`, async () => {
    const weather = tool({ description: 'Of a city', inputSchema: z.object({ city: z.string() }),
                           execute: ({ city }) => `rain in ${city}` });
    const options = { model: providers[name]('sim'), prompt: asked, temperature: 0,
                      tools: { weather }, stopWhen: stepCountIs(3), ...limits };
    const whole = await generateText(options);
    assert.deepEqual(whole.steps.map(({ toolCalls }) => toolCalls.map(({ input }) => input)),
        [[{ city: 'Bern' }], []]);
    assert.ok(whole.text.length > 0);
    const stream = streamText(options);
    await stream.consumeStream();
    assert.deepEqual((await stream.steps).map(({ toolCalls }) => toolCalls.length), [1, 0]);
  });
}

for (const name of ['compatible', 'chat', 'responses']) {
  test(`AI SDK, ${name}: an object`, async () => {
    const { object } = await generateObject(
        { model: providers[name]('sim'), prompt: 'Where?', schema: place, maxRetries: 0 });
    place.parse(object);
  });
}

test('AI SDK: embeddings', async () => {
  const { embeddings } = await embedMany(
      { model: providers.compatible.embeddingModel('embed'), values: ['a', 'b'], maxRetries: 0 });
  assert.equal(embeddings.length, 2);
});

test('LangChain: chats, responses and messages', async () => {
  const configuration = { baseURL: `${server.url}/v1` };
  const common = { model: 'sim', apiKey: 'none', temperature: 0, maxTokens: 100, maxRetries: 0 };
  const weather = langchainTool(() => 'rain',
      { name: 'weather', description: 'Of a city', schema: z.object({ city: z.string() }) });
  for (const model of [
    new ChatOpenAI({ ...common, configuration }),
    new ChatOpenAI({ ...common, configuration, useResponsesApi: true }),
    new ChatAnthropic({ ...common, anthropicApiUrl: server.url }),
  ]) {
    assert.ok((await model.invoke('Say hello')).text.length > 0);
    let text = '';
    for await (const chunk of await model.stream('Say hello')) text += chunk.text;
    assert.ok(text.length > 0);
    const { tool_calls: calls } = await model.bindTools([weather]).invoke(asked);
    assert.deepEqual(calls.map(({ name, args }) => [name, args]), [['weather', { city: 'Bern' }]]);
  }
  const held = new ChatOpenAI({ ...common, configuration })
      .withStructuredOutput(place, { method: 'jsonSchema' });
  place.parse(await held.invoke('Where?'));
  const vectors = new OpenAIEmbeddings({ model: 'embed', apiKey: 'none', configuration });
  assert.equal((await vectors.embedDocuments(['a', 'b'])).length, 2);
});
