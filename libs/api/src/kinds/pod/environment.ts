import { z } from 'zod';
import { core, flag, quantitySchema, requiredText, text } from '../fields.ts';

export const objectFieldSelectorSchema = core('ObjectFieldSelector', 'A field of the pod', {
  apiVersion: z.string().default('v1').describe('Version of the schema that fieldPath is written in'),
  fieldPath: requiredText('Path of the field, such as metadata.name'),
});

export const resourceFieldSelectorSchema = core('ResourceFieldSelector', 'A request or limit of a container', {
  containerName: text('Name of the container; needed in volumes'),
  resource: requiredText('Which one, such as limits.cpu'),
  divisor: quantitySchema.default('0').describe('Unit to give it in; 1 unless set'),
});
export type ObjectFieldSelector = z.infer<typeof objectFieldSelectorSchema>;
export type ResourceFieldSelector = z.infer<typeof resourceFieldSelectorSchema>;

const keySelector = (name: string, of: string) =>
  core(name, `One key of a ${of}`, {
    name: text(`Name of the ${of}`),
    key: requiredText('The key'),
    optional: flag('When true it may be missing'),
  });

export const envVarSchema = core('EnvVar', 'A variable in the environment of a container', {
  name: requiredText('Name of the variable'),
  value: text('Its value; $(NAME) stands for a variable defined before, $$ for a dollar sign'),
  valueFrom: core('EnvVarSource', 'Where a value comes from', {
    fieldRef: objectFieldSelectorSchema.optional().describe('A field of the pod'),
    resourceFieldRef: resourceFieldSelectorSchema.optional().describe('A request or limit of the container'),
    configMapKeyRef: keySelector('ConfigMapKeySelector', 'ConfigMap').optional().describe('A key of a ConfigMap'),
    secretKeyRef: keySelector('SecretKeySelector', 'Secret').optional().describe('A key of a Secret'),
  })
    .optional()
    .describe('Where the value comes from, instead of value'),
});
export type EnvVar = z.infer<typeof envVarSchema>;

const source = (name: string, of: string) =>
  core(name, `All keys of a ${of}`, { name: text(`Name of the ${of}`), optional: flag('When true it may be missing') });

export const envFromSourceSchema = core('EnvFromSource', 'Makes a variable of every key of an object', {
  prefix: text('Put before every name'),
  configMapRef: source('ConfigMapEnvSource', 'ConfigMap').optional().describe('The ConfigMap'),
  secretRef: source('SecretEnvSource', 'Secret').optional().describe('The Secret'),
});
export type EnvFromSource = z.infer<typeof envFromSourceSchema>;
