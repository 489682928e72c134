import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '@roundsman/testkit';
import { normalise } from './normalise.ts';
import type { Step } from './script/step.ts';

/** What a step printed, with everything that differs from run to run taken out. */
export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Where a controller's doing is waited for. */
const withinMs = 90_000;

/** Plays the script with the real kubectl against a server, in the namespace `conf`; outcomes by step. */
export async function play(script: readonly Step[], kubeconfig: string): Promise<Record<string, Outcome>> {
  const folder = mkdtempSync(join(tmpdir(), 'roundsman-conformance-'));
  const outcomes: Record<string, Outcome> = {};
  const run = (args: readonly string[], editor?: string): Promise<Outcome> =>
    new Promise((resolve) => {
      const own = args.includes('-n') || args.includes('-A') ? args : ['-n', 'conf', ...args];
      execFile('kubectl', own, { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder, KUBECONFIG: kubeconfig, TZ: 'UTC', ...(editor === undefined ? {} : { KUBE_EDITOR: editor }) }, timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
      );
    });
  try {
    for (const { name, args, files, editor, behind, until } of script) {
      for (const [file, text] of Object.entries(files ?? {})) writeFileSync(join(folder, file), text);
      if (until === undefined) {
        const { code, stdout, stderr } = await run(args, editor);
        outcomes[name] = { code, stdout: normalise(behind === undefined ? stdout : stdout.slice(Math.max(0, stdout.indexOf(behind)))), stderr: normalise(stderr) };
        continue;
      }
      let last = '';
      await eventually(
        async () => {
          const { stdout, stderr } = await run(args);
          last = stdout + stderr;
          return until.test(last.trimEnd()) || until.test(stdout.trimEnd());
        },
        { within: withinMs, every: 200 },
      ).catch((error: unknown) => {
        // Later steps then show what is missing; the outcome says where it began.
        outcomes[name] = { code: -1, stdout: `${(error as Error).message}; last: ${normalise(last)}`, stderr: '' };
      });
    }
    return outcomes;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
