export const pod = (change = '', spec = '', container = ''): string => `apiVersion: v1
kind: Pod
metadata:
  name: web
  labels: {app: web, tier: front}
${change}spec:
${spec}  containers:
  - name: main
    image: nginx:1.27
${container}`;

export const template = (app: string, extra = ''): string => `  template:
    metadata:
      labels: {app: ${app}}
    spec:
${extra}      containers:
      - name: main
        image: nginx:1.27
        ports: [{containerPort: 80, name: http}]
`;
export const deployment = (name: string, replicas = 2, extra = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: ${replicas}
  selector: {matchLabels: {app: ${name}}}
${extra}${template(name)}`;

export const workload = (kind: string, name: string, extra = ''): string => `apiVersion: apps/v1
kind: ${kind}
metadata: {name: ${name}}
spec:
${extra}  selector: {matchLabels: {app: ${name}}}
${template(name)}`;
