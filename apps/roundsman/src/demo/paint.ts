/** Colours for a terminal; none when the output is no terminal or NO_COLOR is set. Meaning never hangs on colour alone. */
export interface Paint {
  good(text: string): string;
  bad(text: string): string;
  warn(text: string): string;
  dim(text: string): string;
  bold(text: string): string;
}

export function paintFor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): Paint {
  const on = stream.isTTY === true && !env['NO_COLOR'] && env['TERM'] !== 'dumb';
  const code = (open: number, close: number) => (text: string): string => (on ? `\u001b[${open}m${text}\u001b[${close}m` : text);
  return { good: code(32, 39), bad: code(31, 39), warn: code(33, 39), dim: code(2, 22), bold: code(1, 22) };
}
