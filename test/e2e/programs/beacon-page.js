// A customer's page without an SDK: when it is left, it sends what happened by a beacon, which can carry no header and is
// text/plain. The address names url, key and session.
const settings = new URLSearchParams(location.search)
const opened = Date.now()
globalThis.facts = { opened }
addEventListener('pagehide', () => {
  const body = {
    session_id: settings.get('session'),
    events: [
      { type: 'page_view', timestamp: opened, url: location.href, title: document.title },
      {
        type: 'leave',
        timestamp: new Date(opened + 1).toISOString(),
        basket: { items: 3, total: 12.5, label: 'grün ✓' },
      },
    ],
  }
  navigator.sendBeacon(`${settings.get('url')}?key=${settings.get('key')}`, JSON.stringify(body))
})
