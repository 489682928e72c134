const admission = 'the recording ran without the ServiceAccount admission plugin (it would mount tokens, which the small cluster has none of); with it Kubernetes names the default account as well';
const goSyntax = 'Kubernetes prints the value in the syntax of Go structs; ours is the JSON of it, the words are the same';
const fieldNamed = 'Kubernetes answers with an error of its JSON reader that does not name the field by its path; ours is a cause with the path (issue: field-precise 422 causes)';

/**
 * Steps whose outcome differs from that of a real Kubernetes, and why that is right or bearable. The test fails for a step that differs and is not
 * here, and for one that is here and does not differ.
 */
export const differences: Readonly<Record<string, string>> = {
  'get pod yaml': admission,
  'describe pod': admission,
  'patch json bad path': 'ours says which operation does not fit, and why',
  'patch immutable': 'the first line is the same; the difference below it is shown as YAML, not as Go structs',
  'get daemonset yaml': 'the annotation deprecated.daemonset.template.generation served API versions that are gone',
  'describe daemonset': 'the annotation deprecated.daemonset.template.generation served API versions that are gone',
  'patch job template': goSyntax,
  'bad: pdb with both': goSyntax,
  'bad: wrong type': fieldNamed,
  'bad: bad quantity': fieldNamed,
  'bad: long name': 'a long value is cut where it is repeated',
  'explain container': 'the descriptions are our own',
};
