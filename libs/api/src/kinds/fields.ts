import { z } from 'zod';
import { canonicalQuantity, quantityProblem } from '../quantity.ts';
import { emptyIsSaid, falseIsAbsent } from '../validation/empties.ts';

/**
 * Building blocks of the schemas. `about` is what `kubectl explain` says of a member. Nulls need no place here: where the
 * body of an object holds them they mean "absent" and are gone before it is parsed (validation/decode.ts).
 */
export const text = (about: string) => z.string().optional().describe(about);
export const texts = (about: string) => z.array(z.string()).optional().describe(about);
export const textMap = (about: string) => z.record(z.string(), z.string()).optional().describe(about);
/** A text of which `""` means something else than none. */
export const saidText = (about: string) => emptyIsSaid(text(about));
export const flag = (about: string) => z.boolean().optional().describe(about);
/** A flag of which `false` is the same as none. */
export const plainFlag = (about: string) => falseIsAbsent(flag(about));
export const whole = (about: string) => z.number().int().optional().describe(about);
export const requiredText = (about: string) => z.string().describe(about);
/** A time in RFC 3339. */
export const time = (about: string) => z.string().optional().describe(about);
/** A time that Kubernetes shows as `null` when it is not set. */
export const shownTime = (about: string) => z.string().nullish().describe(about);

/** An object with a name of its own in the API: explain shows it as the type of the members that hold it. */
export const message = <const Shape extends z.ZodRawShape>(name: string, about: string, shape: Shape) => z.object(shape).meta({ id: name, description: about });
/** The same for the group of Pods and Nodes. */
export const core = <const Shape extends z.ZodRawShape>(name: string, about: string, shape: Shape) => message(`io.k8s.api.core.v1.${name}`, about, shape);

/** An amount: `500m`, `1Gi`, `2`. A number is taken, too; stored in canonical form (`0.5` as `500m`), as Kubernetes does. */
export const quantitySchema = z
  .union([z.string(), z.number()])
  .transform((given, context) => {
    const canonical = canonicalQuantity(given);
    if (canonical !== undefined) return canonical;
    context.issues.push({ code: 'custom', message: quantityProblem, input: given });
    return z.NEVER;
  })
  .meta({ id: 'io.k8s.apimachinery.pkg.api.resource.Quantity', description: 'An amount with an optional suffix: 500m, 1Gi, 2' });
export const quantities = (about: string) => z.record(z.string(), quantitySchema).optional().describe(about);

/** A number, or a text such as a percentage or the name of a port. */
export const intOrStringSchema = z.union([z.number().int(), z.string()]).meta({ id: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString', description: 'A number, or a text such as a percentage or the name of a port' });
export type IntOrString = z.infer<typeof intOrStringSchema>;
