import { parseArgs } from 'node:util';
import { bounded, compared, median, percentile, printFigures, type Figure } from '@roundsman/testkit';
import { concurrentTasks } from './runtimes/concurrent.ts';
import { deleteRunning } from './runtimes/deletion.ts';
import { firstRequest, stepNames, steps, type Timeline } from './runtimes/first-request.ts';
import { bareDaemonSet, dockerRun } from './runtimes/peers.ts';
import { SmallCluster } from './runtimes/small-cluster.ts';
import { Target } from './runtimes/target.ts';

const nodes = 3;
const load = { qps: 10, seconds: 10 };
/** What the idle cluster may have, and every pod of a runner on top of that while it measures: Node in an image shares no page with the Node of the machine. */
const idleMib = 400;
const podMib = 50;
/** How often each is done; fewer only show that it works. */
const usual = { starts: 7, tasks: 20, deletions: 5 };

/** Tasks with a DaemonSet of their own on three virtual nodes: from creation to the first request, many at once, and deletion in the middle of a round. */
export async function run({ starts, tasks, deletions } = usual): Promise<Figure[]> {
  const cluster = await SmallCluster.start(nodes);
  const { docker, gateway } = cluster;
  const target = await Target.start(docker.gateway);
  try {
    const image = await cluster.image();
    const lines: Timeline[] = [];
    const bare: number[] = [];
    const runs: number[] = [];
    // In turns, so that the machine is the same to all; the first of each warms up.
    for (let turn = 0; turn <= starts; turn += 1) {
      const line = await firstRequest(gateway, target, `first${turn}`, nodes);
      const bareMs = await bareDaemonSet(gateway, image, `bare${turn}`, nodes);
      const runMs = await dockerRun(docker, image, nodes);
      console.error(`first request ${turn}: ${steps.map((step) => `${step} ${Math.round(line[step])}`).join(', ')}; bare DaemonSet ${Math.round(bareMs)}, docker run ${Math.round(runMs)} ms`);
      if (turn === 0) continue;
      lines.push(line);
      bare.push(bareMs);
      runs.push(runMs);
    }
    const until = (step: (typeof steps)[number]): number => median(lines.map((line) => line[step]));
    console.error(steps.map((step) => `  ${String(Math.round(until(step))).padStart(6)} ms until ${stepNames[step]}`).join('\n'));

    const many = await concurrentTasks(cluster, target, tasks, load, nodes);
    const { requests, answers, gets, startUps, problems } = many.asked;
    for (const problem of problems) console.error(`asked meanwhile: ${problem}`);
    console.error(`  ${requests.length} requests of ours: p50 ${percentile(requests, 0.5).toFixed(1)} ms; ${gets.length} kubectl get: p50 ${percentile(gets, 0.5).toFixed(0)}, p99 ${percentile(gets, 0.99).toFixed(0)} ms, of which its start-up ${percentile(startUps, 0.5).toFixed(0)} ms and the answer ${percentile(answers, 0.5).toFixed(0)} ms (p50); ${many.requests} requests of tasks`);

    const deleted = [];
    for (let turn = 0; turn < deletions; turn += 1) deleted.push(await deleteRunning(gateway, target, `deleted${turn}`));
    const seconds = lines.map(({ request }) => request / 1000);
    const dockerSeconds = median(runs) / 1000;
    return [
      bounded('task with a DaemonSet of its own, created until its first request, median', 's', median(seconds), '<', 5),
      bounded('the same, slowest', 's', Math.max(...seconds), '<', 5),
      compared('of it: until its pods are Ready', 's', until('ready') / 1000, 'bare DaemonSet of the same image', median(bare) / 1000, '<= peer + 1 s', (own, peer) => own <= peer + 1),
      bounded('of it: from Ready pods to the first request', 's', (until('request') - until('ready')) / 1000, '<', 1),
      compared(`bare DaemonSet of the same image, until its ${nodes} pods are Ready`, 's', median(bare) / 1000, `${nodes} \`docker run\` at once, until they answer`, dockerSeconds, '<= peer + 2 s', (own, peer) => own <= peer + 2),
      compared(`${tasks} tasks at once, each with a DaemonSet of its own: whole and succeeded`, 'tasks', many.whole, 'tasks', tasks, 'all', (own, peer) => own === peer),
      bounded('the same: requests by which planned, reported and counted by the target differ', 'requests', many.inexact, '<', 0),
      compared('the same: until all have finished', 's', many.seconds, 'their load, and pods at the rate of `docker run`', load.seconds + dockerSeconds * tasks, 'ratio <= 3', (own, peer) => own <= 3 * peer),
      bounded('meanwhile: answer to a list as kubectl asks for it, p99', 'ms', percentile(requests, 0.99), '<', 200),
      bounded('meanwhile: answer to `kubectl get` as kubectl tells it, p99', 'ms', percentile(answers, 0.99), '<', 200),
      compared('meanwhile: `kubectl get` as a person waits for it, p99', 'ms', percentile(gets, 0.99), '`kubectl version --client`, p99', percentile(startUps, 0.99), '<= peer + 200 ms', (own, peer) => own <= peer + 200),
      bounded('meanwhile: requests that failed', 'requests', problems.length, '<', 0),
      bounded(`memory at the peak, all processes, ${many.pods} pods among them (PSS)`, 'MiB', many.peakMib, '<', idleMib + podMib * many.pods),
      bounded('running task deleted: its target counts the last request after, slowest', 's', Math.max(...deleted.map(({ loadStops }) => loadStops)) / 1000, '<', 2),
      bounded('running task deleted: all that was made for it is gone after, slowest', 's', Math.max(...deleted.map(({ gone }) => gone)) / 1000, '<', 10),
    ];
  } finally {
    target.stop();
    await cluster.stop();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { starts: { type: 'string' }, tasks: { type: 'string' }, deletions: { type: 'string' } } });
  const given = Object.fromEntries(Object.entries(values).map(([name, text]) => [name, Number(text)]));
  await printFigures(run({ ...usual, ...given }));
}
