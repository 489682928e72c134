/** One kubectl command whose outcome is compared. */
export interface Step {
  /** Unique; differences name it. */
  readonly name: string;
  readonly args: readonly string[];
  /** Files it reads, by name: `-f pod.yaml`. */
  readonly files?: Readonly<Record<string, string>>;
  /** What kubectl runs to edit a file: `kubectl edit`. */
  readonly editor?: string;
  /** Only what stands behind this in the output is compared: not the descriptions, which are our own. */
  readonly behind?: string;
  /** Not compared, but repeated until its output matches: what controllers do takes its time. */
  readonly until?: RegExp;
}

/** A chapter of the script, built line by line; its steps run in the order of the calls. */
export interface Chapter {
  readonly steps: readonly Step[];
  step(name: string, command: string, files?: Readonly<Record<string, string>>): void;
  /** The same file for creating and, changed, for what should be refused. */
  bad(name: string, manifest: string, command?: string): void;
  /** What a kind is made of. */
  explain(kind: string): void;
  edit(name: string, command: string, editor: string): void;
  until(command: string, pattern: RegExp): void;
  /** Until an event is there: whoever tells it does not wait for it. */
  told(name: string, reason: string): void;
  /** Until the controller has looked at the object as it is now. */
  seen(kind: string, name: string): void;
}

export function chapter(title: string): Chapter {
  const steps: Step[] = [];
  const step = (name: string, command: string, files?: Readonly<Record<string, string>>): void => void steps.push({ name, args: wordsOf(command), ...(files === undefined ? {} : { files }) });
  const until = (command: string, pattern: RegExp): void => void steps.push({ name: `wait: ${title} ${steps.length}: ${command}`, args: wordsOf(command), until: pattern });
  return {
    steps,
    step,
    bad: (name, manifest, command = 'create -f bad.yaml') => step(`bad: ${name}`, command, { 'bad.yaml': manifest }),
    explain: (kind) => void steps.push({ name: `explain ${kind} recursive`, args: ['explain', kind, '--recursive'], behind: 'FIELDS:' }),
    edit: (name, command, editor) => void steps.push({ name, args: wordsOf(command), editor }),
    until,
    told: (name, reason) => until(`get events --field-selector involvedObject.name=${name},reason=${reason} -o name`, /event/),
    seen: (kind, name) => until(`get ${kind} ${name} -o jsonpath='{.metadata.generation} {.status.observedGeneration}'`, /^(\d+) \1$/),
  };
}

/** Words, with '...' around those that hold blanks. */
const wordsOf = (command: string): string[] => [...command.matchAll(/(?:'[^']*'|[^\s'])+/g)].map(([word]) => word.replaceAll("'", ''));
