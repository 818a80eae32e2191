// SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import Lastro
package import LastroHAR
internal import LastroSupport

/// Records every request on the wire with its response or failure, for an HTTP archive.
///
/// It contains all attempts and redirects of all calls. A failed exchange has status 0 and an `_error`. Secrets are
/// masked before anything is kept. For streamed bodies, only the lengths are recorded.
///
/// ```swift
/// let recorder = HARRecorder()
/// configuration.observers.append(recorder)
/// // ...
/// try recorder.har().write(to: file)
/// ```
public final class HARRecorder: FetchObserver {
  /// The limits on the recorded exchanges.
  private struct Limits {
    /// The maximum number of exchanges.
    let entries: Int
    /// The maximum number of bytes of each body.
    let bodyBytes: Int
    /// The maximum number of bytes of all exchanges together.
    let totalBytes: Int
  }

  /// An exchange in progress.
  private struct Running {
    var entry: HAR.Entry
    var start: Duration
    var redaction: Redaction?
  }

  private struct State {
    /// The entries, in the order in which they began.
    var entries: [(number: UInt64, bytes: Int, entry: HAR.Entry)] = []
    /// The number of bytes of all entries.
    var bytes = 0
    var running: [UInt64: (number: UInt64, running: Running)] = [:]
    var last: UInt64 = 0
    var dropped = 0

    mutating func addRunning(_ running: Running, call: UInt64) {
      last += 1
      self.running[call] = (last, running)
    }

    mutating func insertEntry(_ entry: HAR.Entry, number: UInt64, limits: Limits) {
      let index = entries.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
      let size = entry.keptBytes
      entries.insert((number, size, entry), at: index)
      bytes += size
      // Do not trim one by one: each removal would move the array.
      guard bytes > limits.totalBytes || entries.count - limits.entries > limits.entries / 4 else { return }
      trim(to: limits)
    }

    mutating func trim(to limits: Limits) {
      var excess = max(0, entries.count - limits.entries)
      var left = bytes - entries.prefix(excess).reduce(0) { $0 + $1.bytes }
      while left > limits.totalBytes, excess < entries.count {
        left -= entries[excess].bytes
        excess += 1
      }
      bytes = left
      entries.removeFirst(excess)
      dropped += excess
    }
  }

  private let secrets: Secrets
  private let limits: Limits
  private let state = Lock(State())

  /// Creates a recorder.
  ///
  /// - Parameters:
  ///   - maximumEntries: the maximum number of exchanges; beyond it the oldest are dropped. Default 1000; values below
  ///     1 count as 1.
  ///   - maximumBodyBytes: the maximum number of bytes of each body of requests and responses; a longer body is cut
  ///     off, with a comment. Default 1 MiB; a negative number counts as 0.
  ///   - maximumBytes: the maximum number of bytes of all exchanges together, by their texts. Beyond it the oldest are
  ///     dropped; a single exchange above the limit is dropped too. Exchanges in progress do not count. Default 64 MiB;
  ///     a negative number counts as 0.
  ///   - secrets: the treatment of secrets. Default: the usual names are masked, and those that the options of requests
  ///     name.
  public init(
    maximumEntries: Int = 1000, maximumBodyBytes: Int = 1 << 20, maximumBytes: Int = 64 << 20,
    secrets: Secrets = .masked(.standard)
  ) {
    self.secrets = secrets
    limits = Limits(
      entries: max(1, maximumEntries), bodyBytes: max(0, maximumBodyBytes), totalBytes: max(0, maximumBytes))
  }

  /// The number of exchanges that were dropped because a limit was exceeded, oldest first.
  package var droppedEntries: Int {
    state.withLock { state in
      state.trim(to: limits)
      return state.dropped
    }
  }

  /// Returns the completed exchanges as an HTTP archive, version 1.2: the format that browsers and proxies export and
  /// import. It is indented JSON with sorted keys, so that archives can be compared.
  ///
  /// Fields that the format does not define begin with an underscore, as it requires: the call and attempt of an
  /// exchange, the reason for its failure, and its connection.
  ///
  /// - Parameter callID: the `AttemptLedger.callID` of a response or an error, whose call's exchanges are returned.
  ///   Default `nil`: those of all calls.
  /// - Throws: `ConfigurationError` if JSON cannot express an exchange, which cannot happen to a recorded one.
  public func har(forCall callID: UInt64? = nil) throws(ConfigurationError) -> Data {
    try archive(forCall: callID).json()
  }

  /// Returns the completed exchanges, of one call or of all.
  package func archive(forCall callID: UInt64? = nil) -> HAR {
    HAR(entries: entries { callID == nil || $0.call == callID })
  }

  /// Removes the completed exchanges.
  public func removeAll() {
    state.withLock { state in
      state.entries = []
      state.bytes = 0
    }
  }

  private func entries(where isWanted: (HAR.Entry) -> Bool) -> [HAR.Entry] {
    let all = state.withLock { state in
      state.trim(to: limits)
      return state.entries
    }
    return all.lazy.map(\.entry).filter(isWanted)
  }

  /// Records an event on the wire.
  public func observe(_ event: FetchEvent) {
    switch event.kind {
    case .transferStarted(let request):
      close(event, nil)
      let redaction = secrets.redaction(for: request)
      let entry = HARMaker(redaction: redaction, limit: limits.bodyBytes).entry(request, event)
      state.withLock {
        $0.addRunning(Running(entry: entry, start: event.time, redaction: redaction), call: event.callID)
      }
    case .transferEnded(.success(let answer)) where event.isStream && answer.body == nil:
      change(event) { running, maker in maker.answer(&running.entry, answer) }
    case .transferEnded(let result):
      completeExchange(event) { running, maker in
        switch result {
        case .success(let answer):
          maker.answer(&running.entry, answer)
          maker.time(&running.entry, answer.response.facts, elapsed: event.time - running.start)
        case .failure(let error):
          maker.fail(&running.entry, error)
          maker.time(&running.entry, error.facts, elapsed: event.time - running.start)
        }
      }
    case .attemptEnded(let attempt):
      if attempt.outcome != .succeeded { close(event, nil) }
    case .callEnded(.failure): close(event, nil)
    case .bodyEnded(let bytes, let error, let facts):
      close(event, FetchEvent.BodyEnd(bytes: bytes, error: error, facts: facts))
    default: break
    }
  }

  /// Ends an exchange whose response was streamed.
  private func close(_ event: FetchEvent, _ end: FetchEvent.BodyEnd?) {
    completeExchange(event) { running, maker in
      maker.endStreamedBody(&running.entry, end, elapsed: event.time - running.start)
    }
  }

  private func change(_ event: FetchEvent, _ body: (inout Running, HARMaker) -> Void) {
    guard var found = state.withLock({ $0.running[event.callID] }) else { return }
    body(&found.running, HARMaker(redaction: found.running.redaction, limit: limits.bodyBytes))
    state.withLock { $0.running[event.callID] = found }
  }

  private func completeExchange(_ event: FetchEvent, _ body: (inout Running, HARMaker) -> Void) {
    guard var found = state.withLock({ $0.running.removeValue(forKey: event.callID) }) else { return }
    body(&found.running, HARMaker(redaction: found.running.redaction, limit: limits.bodyBytes))
    state.withLock { $0.insertEntry(found.running.entry, number: found.number, limits: limits) }
  }
}

extension HARRecorder {
  /// The treatment of secrets by a recorder.
  public enum Secrets: Sendable, Hashable {
    /// Masks secrets before anything is kept: in URLs, header fields, cookies, queries and bodies.
    case masked(Redaction)
    /// Writes everything unchanged, including passwords, tokens and cookies. A reader of the archive can impersonate
    /// your user.
    case writtenInTheClearForWhoeverReadsTheArchive

    func redaction(for request: ResourceRequest) -> Redaction? {
      switch self {
      case .masked(let redaction): redaction.adding(request)
      case .writtenInTheClearForWhoeverReadsTheArchive: nil
      }
    }
  }
}
