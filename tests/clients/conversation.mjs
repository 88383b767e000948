// A conversation of three turns with tools, as the tests of agent frameworks hold it: what the user
// says, the tools, and what a conversation must have come to, whichever client held it.
import assert from 'node:assert/strict';

import { Server } from './server.mjs';

// The simulated model calls the tools that a message names. A turn is a message and the calls it
// brings about; the last turn brings about none.
export const turns = [
  { says: 'call weather {"city": "Bern"}\ncall clock', calls: ['weather Bern', 'clock'] },
  { says: 'call weather {"city": "Zürich"}', calls: ['weather Zürich'] },
  { says: 'Thank you', calls: [] },
];
// A message of the user, as most clients have it.
export const user = (content) => ({ role: 'user', content });
export const allCalls = turns.flatMap(({ calls }) => calls);

// A server on which the conversation is held, with the models of `words` besides, and some whose
// chat templates are those of other families.
const simulated = ['--model', 'sim=sim:instant,answer-tokens=8'];
const families = ['qwen3-0.6b', 'own-llama-3.1-tools', 'gpt-oss', 'own-gemma-3'];
export const startServers = (...words) => Promise.all([
  Server.start([...simulated, ...words]),
  ...families.map((name) => Server.start(
      [...simulated, '--chat-template', `${process.env.WINDROW_TEMPLATES}/${name}.jinja`])),
]);

// A conversation with the demo model, which thinks before it answers these.
export const demo = ['--model', `demo=${process.env.WINDROW_MODELS}/windrow-demo.gguf`];
export const screening = {
  system: 'You screen candidates for a job. Answer with JSON only: years, missing, fit. years: ' +
      'the sum of the years of all positions. missing: required skills that the profile does not ' +
      'name, in the job\'s order. fit: strong if nothing is missing and the years are enough; ' +
      'possible if one skill is missing and the years are enough, or nothing is missing and the ' +
      'years are 1 or 2 short; weak otherwise.',
  candidates: ['Yara Jansen', 'Ali Sato', 'Mia Roth'].map((name) =>
    'Role: baker; minimum 2 years; skills: bread, pastry.\n\n' +
    `My name is ${name}. Experienced in bread. Worked 3 years as baker in Vandburg.`),
};

const requestsOfTurns = turns.reduce((sum, { calls }) => sum + (calls.length > 0 ? 2 : 1), 0);

// The functions behind the tools; `ran` keeps the calls in their order.
export function functions() {
  const ran = [];
  return {
    ran,
    weather: ({ city }) => { ran.push(`weather ${city}`); return `rain in ${city}`; },
    clock: () => { ran.push('clock'); return 'noon'; },
  };
}

// A fetch for clients that keeps each request with the reply to it. Replies pass through unread, so
// streams stay streams.
export function recorder() {
  const exchanges = [];
  const recording = async (url, options) => {
    const reply = await fetch(url, options);
    const text = reply.clone().text();
    exchanges.push({ path: new URL(url).pathname, body: JSON.parse(options.body),
                     status: reply.status, text });
    return reply;
  };
  return { fetch: recording, exchanges };
}

// Tools of a body of any of the three APIs, as chats have them.
const asChatTool = (tool) => {
  if (tool.function !== undefined) return tool;
  const { name, description, parameters, input_schema: schema, strict } = tool;
  return { type: 'function',
           function: { name, description, parameters: parameters ?? schema,
                       ...(strict !== null && { strict }) } };
};

// How many tokens the prompt of a reply had, in the words of the API that was asked.
function promptTokens(text) {
  const usages = [];
  const look = (value) => {
    if (value === null || typeof value !== 'object') return;
    if (value.usage) usages.push(value.usage);
    Object.values(value).forEach(look);
  };
  for (const line of text.startsWith('{') ? [text] : text.split('\n')) {
    const json = line.replace(/^data: /, '');
    if (json.startsWith('{')) look(JSON.parse(json));
  }
  const { prompt_tokens: chat, input_tokens: own, cache_read_input_tokens: cached } =
      usages.at(-1) ?? {};
  return chat ?? own + (cached ?? 0);
}

// Holds a conversation with the first of `servers` that has ended to what it must be: every request
// was answered, each tool ran once, each turn has an answer, and the answers went back without
// effect on the prompt besides their own words: the same conversation written by hand, as plain chat
// messages, has a prompt of the same length, also with the templates of other families. `system` is
// the text of the system message, where the client sends one; `compact` says that the client writes
// arguments again, without the blanks of the model.
export async function check(servers, { exchanges, ran, answers, system, compact = false }) {
  for (const { path, body, status, text } of exchanges) {
    assert.equal(status, 200, `${path} ${JSON.stringify(body)}\n${await text}`);
  }
  assert.equal(exchanges.length, requestsOfTurns);
  assert.deepEqual(ran, allCalls);
  assert.equal(answers.length, turns.length);
  for (const answer of answers) assert.ok(answer.length > 0);

  const last = exchanges.at(-1);
  const messages = byHand({ answers, system, compact });
  const tools = last.body.tools.map(asChatTool);
  // A request that names items instead of sending them can only be sent to the server that has them.
  const others = /"previous_response_id":"|"item_reference"/.test(JSON.stringify(last.body))
      ? [] : servers.slice(1);
  for (const server of [servers[0], ...others]) {
    const plain = await server.post('/v1/chat/completions',
        { model: 'sim', max_tokens: 1, messages, tools });
    assert.equal(plain.status, 200, plain.text);
    const { text } = server === servers[0] ? last : await server.post(last.path,
        { ...last.body, stream: false, stream_options: undefined });
    assert.equal(promptTokens(await text), plain.json().usage.prompt_tokens,
        `${last.path} ${JSON.stringify(last.body)}\n${await text}`);
  }
}

// The conversation as plain chat messages.
function byHand({ answers, system, compact }) {
  const messages = system === undefined ? [] : [{ role: 'system', content: system }];
  turns.forEach(({ says, calls }, turn) => {
    messages.push({ role: 'user', content: says });
    if (turn + 1 === turns.length) return;
    const id = (index) => `call${turn}-${index}`;
    messages.push({ role: 'assistant', content: null, tool_calls: calls.map((call, index) => {
      const [name, city] = call.split(' ');
      const blank = compact ? '' : ' ';
      return { id: id(index), type: 'function',
               function: { name, arguments: city ? `{"city":${blank}"${city}"}` : '{}' } };
    }) });
    calls.forEach((call, index) => messages.push({
      role: 'tool', tool_call_id: id(index),
      content: call === 'clock' ? 'noon' : call.replace('weather', 'rain in'),
    }));
    messages.push({ role: 'assistant', content: answers[turn] });
  });
  return messages;
}
