/** What the servers are called as images. compose.yaml and Kubernetes name the same. */
export const natsImage = 'nats:2.15.2-alpine'
export const elasticsearchImage = 'docker.elastic.co/elasticsearch/elasticsearch:8.19.21'
