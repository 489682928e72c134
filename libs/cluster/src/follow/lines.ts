import { StringDecoder } from 'node:string_decoder';

/** The lines of a stream of bytes, each as soon as it is whole; what is left at the end without a newline was cut off and is dropped. */
export async function* linesOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  /** Parts of a line that has not ended: joined once, however many pieces a large object comes in. */
  let parts: string[] = [];
  for await (const chunk of stream) {
    const [head = '', ...rest] = decoder.write(chunk).split('\n');
    parts.push(head);
    for (const next of rest) {
      const line = parts.join('');
      if (line !== '') yield line;
      parts = [next];
    }
  }
}
