import { distributionOfUs, roundResult, targetResult } from '@roundsman/testkit';

/** Result messages as JSON, each of `targets` targets with 20 requests, of as many runners and rounds as it takes. */
export function makeMessages(count: number, targets: number): string[] {
  let seed = 7;
  const random = (): number => (seed = (seed * 16_807) % 2_147_483_647) / 2_147_483_647;
  const sample = (n: number, scale: number): number[] => Array.from({ length: n }, () => scale * Math.exp(random() + random() - 1));
  const start = new Date(Math.floor(Date.now() / 1000) * 1000).toISOString();
  // Measured once, used by many: a runner would not repeat itself, the database does not know.
  const shapes = Array.from({ length: 50 }, () => ({ latency: distributionOfUs(sample(20, 1500)), sendLag: distributionOfUs(sample(20, 80)) }));
  const runners = 20;
  return Array.from({ length: count }, (_, i) => {
    const runner = `runner-${i % runners}`;
    const all = Array.from({ length: targets }, (_, t) => targetResult(`node-${t}`, { planned: 20, ...shapes[(i * 7 + t) % shapes.length], statusCodes: { '200': 20 }, startedAt: start, endedAt: start }));
    return JSON.stringify(roundResult(runner, all, { round: 1 + Math.floor(i / runners), roundStart: start }));
  });
}
