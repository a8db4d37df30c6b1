// How long client connections may take for what they do, as deadlines are made of it.

import Configuration

/// The timeouts of the settings, in seconds: every request takes several of them.
struct ClientTimes {
  let head: Double
  let idle: Double
  let body: Double
  let send: Double
  let halfClosed: Double

  init(_ settings: Settings.Clients) {
    head = settings.headTimeout.inSeconds
    idle = settings.idleTimeout.inSeconds
    body = settings.bodyTimeout.inSeconds
    send = settings.sendTimeout.inSeconds
    halfClosed = settings.halfClosedTimeout.inSeconds
  }
}
