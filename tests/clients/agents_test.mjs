// The server through OpenAI's Agents SDK, which runs tools until there is an answer and sends each
// answer back as it came: by chats and by responses, with and without the server's memory.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import { Agent, handoff, MemorySession, OpenAIChatCompletionsModel, OpenAIResponsesModel, run,
         setTracingDisabled, tool, user } from '@openai/agents';
import { z } from 'zod';

import { allCalls, check, demo, functions, recorder, screening, startServers,
         turns } from './conversation.mjs';
import { openaiOf } from './server.mjs';

setTracingDisabled(true);
const instructions = 'You are brief.';
const modelSettings = { temperature: 0, maxTokens: 400 };
let servers;
let server;

before(async () => {
  servers = await startServers(...demo);
  [server] = servers;
});
after(() => Promise.all((servers ?? []).map((one) => one.stop())));

// An agent with the two tools, and what becomes of its requests.
function setUp(Model, more = {}) {
  const { exchanges, fetch } = recorder();
  const { ran, weather, clock } = functions();
  const model = new Model(openaiOf(server, { fetch }), 'sim');
  const tools = [
    tool({ name: 'weather', description: 'Of a city', parameters: z.object({ city: z.string() }),
           execute: weather }),
    tool({ name: 'clock', description: 'The time', parameters: z.object({}), execute: clock }),
  ];
  const agent = new Agent({ name: 'Helper', instructions, model, modelSettings, tools, ...more });
  return { agent, model, exchanges, ran };
}

async function ask(agent, input, options = {}) {
  const result = await run(agent, input, options);
  if (options.stream) await result.completed;
  return result;
}

const apis = { chats: OpenAIChatCompletionsModel, responses: OpenAIResponsesModel };
for (const [api, Model] of Object.entries(apis)) {
  for (const stream of [false, true]) {
    test(`${api}${stream ? ', streamed' : ''}: three turns, the history sent back`, async () => {
      const { agent, exchanges, ran } = setUp(Model);
      const answers = [];
      let history = [];
      for (const { says } of turns) {
        const result = await ask(agent, [...history, user(says)], { stream });
        answers.push(result.finalOutput);
        history = result.history;
      }
      await check(servers, { exchanges, ran, answers, system: instructions });
    });
  }

  test(`${api}: a session of the client's keeps the history`, async () => {
    const { agent, exchanges, ran } = setUp(Model);
    const session = new MemorySession();
    const answers = [];
    for (const { says } of turns) answers.push((await ask(agent, says, { session })).finalOutput);
    await check(servers, { exchanges, ran, answers, system: instructions });
  });

  test(`${api}: tools first, then an object of outputType`, async () => {
    const outputType = z.object({ city: z.enum(['Bern', 'Rome']), wet: z.boolean() });
    const { agent, ran } = setUp(Model, { outputType });
    let history = [];
    for (const { says } of turns) {
      const result = await ask(agent, [...history, user(says)]);
      outputType.parse(result.finalOutput);
      history = result.history;
    }
    assert.deepEqual(ran, allCalls);
  });

  test(`${api}: thoughts are sent back`, async () => {
    const { exchanges, fetch } = recorder();
    const agent = new Agent({ name: 'Recruiter', instructions: screening.system,
                              model: new Model(openaiOf(server, { fetch }), 'demo'),
                              modelSettings: { temperature: 0, maxTokens: 192 } });
    let history = [];
    for (const candidate of screening.candidates) {
      ({ history } = await ask(agent, [...history, user(candidate)]));
    }
    const thoughts = /"reasoning_content":"[^"]|"reasoning_text"/;
    assert.match(await exchanges[0].text, thoughts);
    assert.match(JSON.stringify(exchanges.at(-1).body), thoughts);
  });

  test(`${api}: a conversation is handed to another agent and back`, async () => {
    const { agent: helper, model, ran } = setUp(Model);
    const clerk = new Agent({ name: 'Clerk', model, modelSettings, handoffs: [helper] });
    helper.handoffs = [handoff(clerk)];
    const first = await ask(helper, 'call transfer_to_clerk');
    assert.equal(first.lastAgent.name, 'Clerk');
    const second = await ask(clerk, [...first.history, user('call transfer_to_helper')]);
    assert.equal(second.lastAgent.name, 'Helper');
    const third = await ask(helper, [...second.history, user(turns[0].says)]);
    assert.ok(third.finalOutput.length > 0);
    assert.deepEqual(ran, turns[0].calls);
  });
}

for (const stream of [false, true]) {
  test(`responses${stream ? ', streamed' : ''}: the server remembers, by previous_response_id`,
      async () => {
        const { agent, exchanges, ran } = setUp(OpenAIResponsesModel);
        const answers = [];
        let previousResponseId;
        for (const { says } of turns) {
          const result = await ask(agent, says, { previousResponseId, stream });
          answers.push(result.finalOutput);
          previousResponseId = result.lastResponseId;
        }
        assert.equal(exchanges.at(-1).body.input.length, 1, 'the last turn alone is sent');
        await check(servers, { exchanges, ran, answers, system: instructions });
      });
}
