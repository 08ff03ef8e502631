import { z } from 'zod'

// The parts of the Kubernetes API (v1.30: core/v1, apps/v1, policy/v1, networking.k8s.io/v1) and of Kustomize that infra/ uses, and
// nothing else: a key that is misspelt or misplaced is refused. What Pod Security's level `restricted` asks of a pod is required.

const labels = z.record(z.string(), z.string())
const metadata = z.strictObject({ name: z.string(), labels: labels.optional(), annotations: labels.optional() })
const matchLabels = z.strictObject({ matchLabels: labels })
const quantity = z.string().regex(/^\d+(m|Mi|Gi)?$/)
const named = z.strictObject({ name: z.string() })

const env = z.strictObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .union([
      z.strictObject({ secretKeyRef: z.strictObject({ name: z.literal('throughline'), key: z.string() }) }),
      z.strictObject({ fieldRef: z.strictObject({ fieldPath: z.literal('metadata.name') }) }),
    ])
    .optional(),
})

const timing = { periodSeconds: z.int().positive().optional(), failureThreshold: z.int().positive().optional() }
const probe = z.union([
  z.strictObject({ httpGet: z.strictObject({ path: z.string().startsWith('/'), port: z.string() }), ...timing }),
  z.strictObject({ tcpSocket: z.strictObject({ port: z.string() }), ...timing }),
])

const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  args: z.array(z.string()).optional(),
  envFrom: z.array(z.strictObject({ configMapRef: z.strictObject({ name: z.literal('throughline') }) })).optional(),
  env: z.array(env).optional(),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })),
  startupProbe: probe,
  readinessProbe: probe,
  livenessProbe: probe,
  lifecycle: z
    .strictObject({ preStop: z.strictObject({ sleep: z.strictObject({ seconds: z.int().positive() }) }) })
    .optional(),
  resources: z.strictObject({
    requests: z.strictObject({ cpu: quantity, memory: quantity }),
    limits: z.strictObject({ memory: quantity }),
  }),
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true).optional(),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string().startsWith('/') })),
})
export type Container = z.infer<typeof container>

const volume = z.union([
  z.strictObject({ name: z.string(), configMap: named }),
  z.strictObject({ name: z.string(), emptyDir: z.strictObject({}) }),
])

const template = z.strictObject({
  metadata: z.strictObject({ labels, annotations: z.record(z.string(), z.string()).optional() }),
  spec: z.strictObject({
    terminationGracePeriodSeconds: z.int().positive(),
    automountServiceAccountToken: z.literal(false),
    securityContext: z.strictObject({
      runAsNonRoot: z.literal(true),
      runAsUser: z.int().positive(),
      runAsGroup: z.int().positive(),
      fsGroup: z.int().positive(),
      seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
    }),
    topologySpreadConstraints: z
      .array(
        z.strictObject({
          maxSkew: z.int().positive(),
          topologyKey: z.literal('kubernetes.io/hostname'),
          whenUnsatisfiable: z.enum(['DoNotSchedule', 'ScheduleAnyway']),
          labelSelector: matchLabels,
        }),
      )
      .optional(),
    containers: z.tuple([container]),
    volumes: z.array(volume).optional(),
  }),
})

const claim = z.strictObject({
  metadata: named,
  spec: z.strictObject({
    accessModes: z.tuple([z.literal('ReadWriteOnce')]),
    resources: z.strictObject({ requests: z.strictObject({ storage: quantity }) }),
  }),
})

const replicas = z.int().positive()
const deployment = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    replicas,
    strategy: z.strictObject({ rollingUpdate: z.strictObject({ maxSurge: z.int(), maxUnavailable: z.int() }) }),
    selector: matchLabels,
    template,
  }),
})
const statefulSet = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('StatefulSet'),
  metadata,
  spec: z.strictObject({
    serviceName: z.string(),
    replicas,
    podManagementPolicy: z.literal('Parallel').optional(),
    selector: matchLabels,
    template,
    volumeClaimTemplates: z.array(claim),
  }),
})
export type Workload = z.infer<typeof deployment> | z.infer<typeof statefulSet>

const service = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z.strictObject({
    clusterIP: z.literal('None').optional(),
    publishNotReadyAddresses: z.literal(true).optional(),
    selector: labels,
    ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string().optional() })),
  }),
})

const disruptionBudget = z.strictObject({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata,
  spec: z.strictObject({ maxUnavailable: z.int().positive(), selector: matchLabels }),
})

const path = z.strictObject({
  path: z.string().startsWith('/'),
  pathType: z.literal('Prefix'),
  backend: z.strictObject({ service: z.strictObject({ name: z.string(), port: named }) }),
})
const ingress = z.strictObject({
  apiVersion: z.literal('networking.k8s.io/v1'),
  kind: z.literal('Ingress'),
  metadata,
  spec: z.strictObject({
    rules: z.array(z.strictObject({ http: z.strictObject({ paths: z.array(path) }) })),
  }),
})

export const manifest = z.discriminatedUnion('kind', [deployment, statefulSet, service, disruptionBudget, ingress])
export type Manifest = z.infer<typeof manifest>

export const kustomization = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  resources: z.array(z.string()),
  labels: z.array(z.strictObject({ pairs: labels })),
  images: z.array(z.strictObject({ name: z.literal('throughline'), newTag: z.string() })),
  configMapGenerator: z.array(
    z.strictObject({
      name: z.string(),
      files: z.array(z.string()).optional(),
      literals: z.array(z.string().regex(/^[A-Z_]+=/)).optional(),
    }),
  ),
  secretGenerator: z.tuple([z.strictObject({ name: z.literal('throughline'), envs: z.tuple([z.literal('.env')]) })]),
})
export type Kustomization = z.infer<typeof kustomization>
