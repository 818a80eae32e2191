// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Records every request on the wire, with its answer or failure, for an HTTP archive.
///
/// All attempts and redirects of all calls are there; an exchange that failed has status 0 and an `_error`. Secrets are
/// masked before anything is kept. Bodies of streams are not recorded, only their lengths.
///
/// ```swift
/// let recorder = HARRecorder()
/// configuration.observers.append(recorder)
/// // ...
/// try recorder.har().json().write(to: file)
/// ```
public final class HARRecorder: FetchObserver {
  /// What to keep.
  public struct Limits: Sendable, Hashable {
    /// Most exchanges: beyond them the oldest are dropped, and counted in ``HARRecorder/droppedEntries``. Default 1000;
    /// fewer than one count as one.
    public var entries: Int
    /// Most bytes of a body, of requests and answers each: what is more is cut off, and a comment says so. Default 1
    /// MiB; a negative number counts as zero.
    public var bodyBytes: Int
    /// Most bytes of all exchanges together, by the texts that are kept of them: beyond that the oldest are dropped,
    /// and counted in ``HARRecorder/droppedEntries``; so is an exchange that is larger by itself. Exchanges that still
    /// run do not count. Default 64 MiB; a negative number counts as zero.
    public var totalBytes: Int

    /// Makes limits.
    public init(entries: Int = 1000, bodyBytes: Int = 1 << 20, totalBytes: Int = 64 << 20) {
      self.entries = max(1, entries)
      self.bodyBytes = max(0, bodyBytes)
      self.totalBytes = max(0, totalBytes)
    }
  }

  /// An exchange that runs.
  private struct Running {
    var entry: HAR.Entry
    var start: Duration
    var redaction: Redaction?
  }

  private struct State {
    /// In the order of their beginning.
    var entries: [(number: UInt64, bytes: Int, entry: HAR.Entry)] = []
    /// Bytes of all entries together.
    var bytes = 0
    var running: [UInt64: (number: UInt64, running: Running)] = [:]
    var last: UInt64 = 0
    var dropped = 0

    mutating func begin(_ running: Running, call: UInt64) {
      last += 1
      self.running[call] = (last, running)
    }

    mutating func end(_ entry: HAR.Entry, number: UInt64, limits: Limits) {
      let index = entries.lastIndex { $0.number < number }.map { $0 + 1 } ?? 0
      let size = entry.keptBytes
      entries.insert((number, size, entry), at: index)
      bytes += size
      // Not one by one: the array would be moved for each.
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

  /// Makes a recorder.
  ///
  /// - Parameters:
  ///   - limits: what to keep. Default: 1000 exchanges, 1 MiB of each body, 64 MiB of all.
  ///   - secrets: default: masked.
  public init(limits: Limits = Limits(), secrets: Secrets = .masked) {
    self.secrets = secrets
    self.limits = limits
  }

  /// Number of exchanges that were dropped, being the oldest, for want of room.
  public var droppedEntries: Int {
    state.withLock { state in
      state.trim(to: limits)
      return state.dropped
    }
  }

  /// The exchanges so far that have ended.
  public func har() -> HAR { HAR(entries: entries { _ in true }) }

  /// The exchanges of one call: `AttemptLedger.callID` of its response or error.
  public func har(forCall callID: UInt64) -> HAR { HAR(entries: entries { $0.call == callID }) }

  /// Forgets the exchanges that have ended.
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

  /// Keeps what happened on the wire.
  public func observe(_ event: FetchEvent) {
    switch event.kind {
    case .transferStarted(let request):
      close(event, nil)
      let redaction = secrets.redaction(for: request)
      let entry = HARMaker(redaction: redaction, limit: limits.bodyBytes).entry(request, event)
      state.withLock { $0.begin(Running(entry: entry, start: event.time, redaction: redaction), call: event.callID) }
    case .transferEnded(.success(let answer)) where event.isStream && answer.body == nil:
      change(event) { running, maker in maker.answer(&running.entry, answer) }
    case .transferEnded(let result):
      finish(event) { running, maker in
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
    case .bodyEnded(let end): close(event, end)
    default: break
    }
  }

  /// Ends an exchange whose answer was streamed.
  private func close(_ event: FetchEvent, _ end: FetchEvent.BodyEnd?) {
    finish(event) { running, maker in
      maker.end(&running.entry, end, elapsed: event.time - running.start)
    }
  }

  private func change(_ event: FetchEvent, _ body: (inout Running, HARMaker) -> Void) {
    guard var found = state.withLock({ $0.running[event.callID] }) else { return }
    body(&found.running, HARMaker(redaction: found.running.redaction, limit: limits.bodyBytes))
    state.withLock { $0.running[event.callID] = found }
  }

  private func finish(_ event: FetchEvent, _ body: (inout Running, HARMaker) -> Void) {
    guard var found = state.withLock({ $0.running.removeValue(forKey: event.callID) }) else { return }
    body(&found.running, HARMaker(redaction: found.running.redaction, limit: limits.bodyBytes))
    state.withLock { $0.end(found.running.entry, number: found.number, limits: limits) }
  }
}
