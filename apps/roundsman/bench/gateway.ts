/** An object as the gateway tells it; of its parts only what benchmarks look at. */
export interface Told {
  readonly metadata: { readonly name: string; readonly uid: string; readonly labels?: Readonly<Record<string, string>> };
}

/** The API of a cluster, by HTTP as any program would ask it. */
export class Gateway {
  readonly url: string;
  readonly #token: string;

  constructor(url: string, token: string) {
    this.url = url;
    this.#token = token;
  }

  /** Rejects with what the server says when it refuses. */
  async ask(path: string, init: RequestInit = {}): Promise<Response> {
    const response = await fetch(this.url + path, { ...init, headers: { authorization: `Bearer ${this.#token}`, 'content-type': 'application/json' } });
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
    return response;
  }

  async get<T>(path: string): Promise<T> {
    return (await (await this.ask(path)).json()) as T;
  }

  async list<T>(path: string): Promise<T[]> {
    return (await this.get<{ items: T[] }>(path)).items;
  }

  async post<T = unknown>(path: string, body: unknown): Promise<T> {
    return (await (await this.ask(path, { method: 'POST', body: JSON.stringify(body) })).json()) as T;
  }

  async delete(path: string): Promise<void> {
    await (await this.ask(path, { method: 'DELETE' })).json();
  }

  /** Resolves when the watch is open, with what ends it. `tell` hears what is there, and every change. */
  async watch<T>(path: string, tell: (object: T, type: string) => void): Promise<() => void> {
    const stop = new AbortController();
    const response = await this.ask(`${path}${path.includes('?') ? '&' : '?'}watch=true`, { signal: stop.signal });
    const read = async (): Promise<void> => {
      let rest = '';
      for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop()!;
        for (const line of lines) {
          const { object, type } = JSON.parse(line) as { object: T; type: string };
          tell(object, type);
        }
      }
    };
    read().catch((error: unknown) => {
      if (!stop.signal.aborted) throw error;
    });
    return () => stop.abort();
  }
}
