// A `windrow serve` of its own for a test: started on a port that is free, ended with the test; and
// the official packages as they are set up to ask it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const program = process.env.WINDROW_PROGRAM;
export const models = process.env.WINDROW_TEST_MODELS_DIR;

// Two models that call tools: one does what it is told, the other computes.
export const callers = ['--model', 'sim=sim:instant,answer-tokens=8',
                        '--model', `chat=${models}/qwen3-f32.gguf`];

export const openaiOf = (server, more) =>
  new OpenAI({ apiKey: 'none', baseURL: `${server.url}/v1`, maxRetries: 0, ...more });
export const anthropicOf = (server, more) =>
  new Anthropic({ apiKey: 'none', baseURL: server.url, maxRetries: 0, ...more });

// A message of the user, as messages of both.
export const user = (content) => [{ role: 'user', content }];

// Ends what a failed test left behind.
const running = new Set();
process.on('exit', () => { for (const child of running) child.kill('SIGKILL'); });

export class Server {
  static async start(words) {
    const server = new Server();
    server.child = spawn(program, ['serve', '--listen', '127.0.0.1:0', '--json', ...words], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    running.add(server.child);
    server.said = '';
    server.ended = once(server.child, 'exit').then(([code, signal]) => {
      running.delete(server.child);
      return { code, signal };
    });
    server.url = await server.line(/"url":\s*"(https?:\/\/[^"]+)"/);
    await server.line(/"event":\s*"ready"/);
    return server;
  }

  // Reads what the server says until it matches; its first group.
  line(pattern) {
    return new Promise((resolve, reject) => {
      const look = () => {
        const found = this.said.match(pattern);
        if (found === null) return;
        this.child.stdout.off('data', take);
        resolve(found[1]);
      };
      const take = (bytes) => {
        this.said += bytes;
        look();
      };
      this.child.stdout.on('data', take);
      this.ended.then((end) => reject(new Error(
          `the server ended (${JSON.stringify(end)}) before it said ${pattern}:\n${this.said}`)));
      look();
    });
  }

  async get(path) {
    const reply = await fetch(this.url + path);
    return { status: reply.status, headers: reply.headers, text: await reply.text() };
  }

  async post(path, body, headers = {}) {
    const reply = await fetch(this.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, text, json: () => JSON.parse(text) };
  }

  // Asks until it is as wanted; the runner of the tests ends one that never is.
  async until(path, wanted) {
    for (;;) {
      const reply = await this.get(path);
      if (wanted(reply)) return reply;
      await new Promise((resume) => setTimeout(resume, 5));
    }
  }

  async stop(signal = 'SIGTERM') {
    this.child.kill(signal);
    return this.ended;
  }
}
