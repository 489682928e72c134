/**
 * The number that `value` means: itself, or that percentage of `total` rounded up or down. Throws on a text that is no
 * percentage, in Kubernetes' words.
 */
export function resolveIntOrString(value: number | string, total: number, roundUp: boolean): number {
  if (typeof value === 'number') return value;
  const percent = /^([0-9]+)%$/.exec(value)?.[1];
  if (percent === undefined) throw new TypeError(`invalid value for IntOrString: invalid type: string is not a percentage: ${JSON.stringify(value)}`);
  const share = (Number(percent) * total) / 100;
  return roundUp ? Math.ceil(share) : Math.floor(share);
}
