// How long origins may take for what they do, as deadlines are made of it.

import Configuration

/// The timeouts of the settings, in seconds: every exchange takes several of them.
struct UpstreamTimes {
  let head: Double
  let stall: Double
  let idle: Double

  init(_ settings: Settings.Upstream) {
    head = settings.headTimeout.inSeconds
    stall = settings.stallTimeout.inSeconds
    idle = settings.idleTimeout.inSeconds
  }
}
