const binary = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
const decimal = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'] as const;

/** What is wrong with a text that is no quantity, in Kubernetes' words. */
export const quantityProblem = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

const form = /^([+-]?)(\d*)(?:\.(\d*))?(?:(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE])|[eE]([+-]?\d+))?$/;

export type QuantityFormat = 'BinarySI' | 'DecimalSI' | 'DecimalExponent';

/** An amount, exactly: in billionths, the finest unit of Kubernetes. What is finer is rounded up, away from zero. */
interface Amount {
  readonly nanos: bigint;
  readonly format: QuantityFormat;
}

const million = 1_000_000n;
const giga = 1_000_000_000n;

function read(text: string): Amount | undefined {
  const parts = form.exec(text);
  if (parts === null) return undefined;
  const [, sign, before = '', after = '', suffix = '', exponent] = parts;
  if (before === '' && after === '') return undefined;
  const scale = exponent === undefined ? scaleOf(suffix) : { factor: 1n, tens: Number(exponent), format: 'DecimalExponent' as const };
  // Nobody means that; it would only cost memory.
  if (Math.abs(scale.tens) > 400 || before.length + after.length > 400) return undefined;
  let nanos = BigInt(before + after) * scale.factor * giga;
  const tens = scale.tens - after.length;
  if (tens >= 0) nanos *= 10n ** BigInt(tens);
  else {
    const divisor = 10n ** BigInt(-tens);
    nanos = (nanos + divisor - 1n) / divisor;
  }
  return { nanos: sign === '-' ? -nanos : nanos, format: scale.format };
}

function scaleOf(suffix: string): { factor: bigint; tens: number; format: QuantityFormat } {
  const power = binary.indexOf(suffix as 'Ki');
  if (power > 0) return { factor: 1024n ** BigInt(power), tens: 0, format: 'BinarySI' };
  return { factor: 1n, tens: (decimal.indexOf(suffix as 'm') - 3) * 3, format: 'DecimalSI' };
}

function amountOf(quantity: string | number): Amount {
  const amount = read(typeof quantity === 'number' ? plain(quantity) : quantity.trim());
  if (amount === undefined) throw new TypeError(`${JSON.stringify(quantity)}: ${quantityProblem}`);
  return amount;
}

/** A number as text that `read` takes; JavaScript writes large and tiny ones with an exponent. */
const plain = (value: number): string => (Number.isFinite(value) ? String(value) : '');

/** The amount in base units: cores, bytes, pieces. Throws a TypeError on what is no quantity. */
export function parseQuantity(quantity: string | number): number {
  const { nanos } = amountOf(quantity);
  // Apart, so that whole numbers stay exact.
  return Number(nanos / giga) + Number(nanos % giga) / 1e9;
}

/** The amount in thousandths, rounded up: millicores. Throws as `parseQuantity`. */
export function quantityMillis(quantity: string | number): number {
  const { nanos } = amountOf(quantity);
  return Number(ceilDiv(nanos, million));
}

/** Below zero, zero or above as `a` is less than, equal to or more than `b`. */
export function compareQuantities(a: string | number, b: string | number): number {
  const difference = amountOf(a).nanos - amountOf(b).nanos;
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

/** An amount in base units in canonical form: `0.5` as `500m`; in binary form what is whole: `1073741824` as `1Gi`. */
export function formatQuantity(value: number, as: 'DecimalSI' | 'BinarySI' = 'DecimalSI'): string {
  if (!Number.isFinite(value)) throw new TypeError(`${value} is no amount`);
  return written({ nanos: Number.isInteger(value) ? BigInt(value) * giga : BigInt(Math.round(value * 1e9)), format: as });
}

/** No fraction, the largest suffix that leaves a whole number, the kind of suffix that it came with. */
function written({ nanos, format }: Amount): string {
  if (nanos === 0n) return '0';
  if (format === 'BinarySI' && nanos % giga === 0n && magnitude(nanos) >= 1024n * giga) {
    let [count, power] = [nanos / giga, 0];
    while (power < binary.length - 1 && count % 1024n === 0n) [count, power] = [count / 1024n, power + 1];
    return `${count}${binary[power]}`;
  }
  let [count, power] = [nanos, 0];
  while (power < decimal.length - 1 && count % 1000n === 0n) [count, power] = [count / 1000n, power + 1];
  if (format !== 'DecimalExponent' || power === 3) return `${count}${decimal[power]}`;
  return `${count}e${(power - 3) * 3}`;
}

const magnitude = (value: bigint): bigint => (value < 0n ? -value : value);
function ceilDiv(value: bigint, divisor: bigint): bigint {
  const whole = value / divisor;
  if (value % divisor === 0n) return whole;
  return value < 0n ? whole - 1n : whole + 1n;
}

/** The same few amounts come again in every pod. */
const known = new Map<string | number, string>();
const mostKnown = 4096;

/**
 * The form in which Kubernetes stores amounts of resources: `0.5` as `500m`, `1024Mi` as `1Gi`, `1000m` as `1`; what is finer than a
 * thousandth is rounded up. Undefined when it is no quantity.
 */
export function canonicalQuantity(quantity: string | number): string | undefined {
  const cached = known.get(quantity);
  if (cached !== undefined) return cached;
  const amount = read(typeof quantity === 'number' ? plain(quantity) : quantity.trim());
  if (amount === undefined) return undefined;
  const canonical = written({ nanos: ceilDiv(amount.nanos, million) * million, format: amount.format });
  if (known.size >= mostKnown) known.clear();
  known.set(quantity, canonical);
  return canonical;
}
