/** Files of test/e2e that do not meet the cluster, each with its reason. All others do, as they stand. */
export const notOnTheCluster: Readonly<Record<string, string>> = {
  'readme.test.ts': 'runs the README’s commands, which start the embedded form',
  'replace.test.ts': 'replaces the one worker of one parent; test/cluster/roles.test.ts does it role by role',
  'replace-hung.test.ts': 'stops the one worker of one parent; the parent of every role is the same program',
  'replace-crash.test.ts':
    'kills the one worker of one parent; test/cluster/chaos.test.ts kills processes of a cluster',
  'crash.test.ts': 'starts an installation anew time after time; test/cluster/chaos.test.ts kills its processes',
  'allowance.test.ts':
    'starts four workers on the log of a data folder; test/cluster/chaos.test.ts does it with four processes',
  'allowance-lost-day.test.ts':
    'removes a file of a data folder; test/projections/allowance/counted-spans.test.ts meets a lost day of Elasticsearch too',
  'dead-letters.test.ts':
    'spoils the log of a data folder; test/projections/folding/dead-letters.test.ts meets the engines of a cluster',
  'retention.test.ts':
    'fills the log of a data folder before it starts; test/cluster/retention.test.ts meets the engines',
  'kept-browser-sessions.test.ts':
    'fills the log of a data folder before it starts; test/cluster/retention.test.ts meets the engines',
  'packed-days.test.ts':
    'looks into the files of a data folder; Elasticsearch compresses what it stores from the beginning',
  'month-of-days.test.ts':
    'fills the log of a data folder, and counts the files that a process has open; a cluster has its indexes elsewhere',
  'rebuild.test.ts': 'damages the files of a data folder; test/cluster/rebuild.test.ts rebuilds and compares',
  'damaged-log.test.ts': 'damages the files of a data folder; what a cluster’s NATS has lost is its own to say',
  'backup.test.ts': 'copies the files of a data folder; NATS has backups of its own',
  'tls.test.ts': 'serves TLS by the one process that it starts; before a cluster stands what its operator has',
  'slow-search.test.ts': 'keeps a query thread of the embedded form busy; a cluster’s queries run in Elasticsearch',
  'replace-packages.test.ts': 'replaces the one worker of one parent; the parent of every role is the same program',
  'moved-folder.test.ts': 'moves the data folder, and removes files of its log; a cluster keeps its log in NATS',
  'base-url.test.ts': 'starts the embedded form; test/cluster/launcher.test.ts starts a cluster with a BASE_URL',
  'own-files.test.ts': 'is about the data folder of the embedded form; a cluster’s files are its engines’',
  'full-disk.test.ts': 'is about the reserve in a data folder; a cluster keeps its log on the disks of NATS',
  'failed-start.test.ts':
    'starts the embedded form; test/cluster/faults.test.ts meets processes of a cluster that cannot start',
  'replace-parent.test.ts': 'is about the parent of the embedded form: its data folder, its lock, its port',
}

/**
 * Files that meet it with SOAK=1 only. One takes minutes there. The others look at what a browser makes of a page, and were a third of what
 * this suite costs: pages know of no store (test/architecture.test.ts), and test/differential finds the answers of both forms equal, byte for
 * byte. What a browser meets of a cluster itself (signing in, sending, following, what another process changed) is in those that stay.
 */
export const longOnTheCluster: Readonly<Record<string, string>> = {
  'read-paging.test.ts': 'sends between any two pages of some 600 walks, and waits for the index each time',
  'page-scripts.test.ts':
    'is about times and bars that scripts change in the browser; search-pages.test.ts follows logs and opens traces',
  'page-keys.test.ts': 'is about keys and the clipboard of the browser; search-pages.test.ts meets the pages',
  'copy-values.test.ts': 'is about the clipboard of the browser; search-pages.test.ts opens spans and records',
  'typed-times.test.ts': 'is about times that scripts read in the browser; search-pages.test.ts searches by them',
  'narrow-pages.test.ts': 'measures what is drawn on small screens; search-pages.test.ts does so too',
  'search-form.test.ts': 'measures the form of a search on a phone; search-pages.test.ts searches without scripts too',
  'trace-page.test.ts': 'measures the page of a trace; search-pages.test.ts opens spans on it',
  'service-map.test.ts': 'measures how a map is drawn; test/app/service-map.test.ts meets what it is made of',
  'other-engines.test.ts': 'measures what is drawn; search-pages.test.ts meets the pages',
  'accessibility.test.ts': 'checks what a browser makes of every page; search-pages.test.ts meets the pages',
  'come-back.test.ts': 'is about what a browser keeps of a page; search-pages.test.ts opens spans and records',
  'other-workspace.test.ts': 'is about two tabs of one browser; account-pages.test.ts signs in to a cluster',
  'trace-durations.test.ts': 'measures bars of durations; search-pages.test.ts opens traces',
  'more-senders-browser.test.ts': 'is about what browsers put on the wire; browser.test.ts finds it again',
  'typed-ids.test.ts': 'is about where a form leads in the browser; test/differential asks both forms for ids',
  'open-records.test.ts': 'measures what an open record takes of a page; search-pages.test.ts opens records',
  'more-senders.test.ts': 'is about what senders put on the wire; senders.test.ts finds it again',
  'demo.test.ts': 'is about what the demo sends; senders.test.ts and browser.test.ts send by the same SDKs',
  'filter-rows.test.ts':
    'is about rows that a script hides in the browser; account-pages.test.ts meets the pages of keys',
  'follow-logs.test.ts': 'answers in the server’s place; search-pages.test.ts follows what a cluster takes in',
}
