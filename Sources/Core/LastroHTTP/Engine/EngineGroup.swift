// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport
internal import Synchronization

/// The engines of one transport on several loops, and the limits that they share: the number of requests that wait for
/// a connection, and the number of idle connections.
///
/// Each engine reports its own numbers. Any thread may call it.
package final class EngineGroup: Sendable {
  /// The engines and the inboxes of their loops. The loops themselves would be kept alive by the group.
  private let members = Lock<[(engine: EngineReference, inbox: LoopInbox)]>([])
  private let queuedJobs = Atomic<Int>(0)
  private let idleConnections = Atomic<Int>(0)

  package init() {}

  /// The number of jobs that wait for another job to end.
  var queued: Int { queuedJobs.load(ordering: .relaxed) }
  /// The number of idle connections.
  var idle: Int { idleConnections.load(ordering: .relaxed) }

  func countQueued(_ change: Int) { queuedJobs.add(change, ordering: .relaxed) }
  func countIdle(_ change: Int) { idleConnections.add(change, ordering: .relaxed) }

  func join(_ engine: EngineReference, _ inbox: LoopInbox) {
    members.withLock { $0.append((engine, inbox)) }
  }

  func leave(_ engine: EngineReference) { members.withLock { $0.removeAll { $0.engine === engine } } }

  /// Tells the engine with the oldest idle connection to close surplus connections, if that connection has been idle
  /// since before `time`.
  ///
  /// - Returns: whether there is such an engine. It acts in its loop's next turn.
  func trimIdle(before time: Int64) -> Bool {
    let oldest = members.withLock { members in members.min { $0.engine.idleSince < $1.engine.idleSince } }
    guard let oldest, oldest.engine.idleSince < time else { return false }
    if oldest.engine.mustTrimIdle() { _ = oldest.inbox.perform { [engine = oldest.engine] _ in engine.trimIdle() } }
    return true
  }
}

extension EngineSettings {
  /// The limits per host, divided between a host's home loop and its second choice, which gets a quarter, rounded down.
  /// `nil` if that leaves nothing for the second choice.
  package var sharedByHomes: (home: EngineSettings, second: EngineSettings)? {
    var home = self, second = self
    for limit in [\EngineSettings.connectionsPerHost, \.http2StreamsPerHost, \.dialsPerHost] {
      second[keyPath: limit] = self[keyPath: limit] / 4
      home[keyPath: limit] -= second[keyPath: limit]
      guard second[keyPath: limit] > 0 else { return nil }
    }
    return (home, second)
  }
}

extension HTTPEngine {
  /// Closes the idle connections that exceed the limit, the oldest first.
  ///
  /// If another engine of the group has the oldest connection, that engine closes it in its loop's next turn. If the
  /// surplus is then more than one connection and more than an eighth of the limit, this engine closes its own oldest
  /// one as well.
  func limitIdle() {
    let most = max(1, settings.idleConnections)
    guard let group = reference.group else {
      if idle.count > most { oldestIdle().map(retire) }
      return
    }
    while group.idle > most {
      let oldest = oldestIdle()
      // The published time may be too early, because the reuse of a connection is not reported.
      reference.publishIdle(since: oldest?.idleSince)
      if group.trimIdle(before: oldest?.idleSince ?? .max), group.idle <= most + max(1, most / 8) { return }
      guard let oldest else { return }
      retire(oldest)
    }
  }
}
