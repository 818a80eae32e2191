// SPDX-License-Identifier: Apache-2.0

/// Counts what a server can send without end, and what costs us more than it.
///
/// What our own sending provokes is allowed for: a server that takes an upload sends WINDOW_UPDATE, and measures with
/// PING.
package struct HTTP2FloodGuard: Sendable {
  package static let maximumControlFrames = 1_000
  package static let controlSpan = 10 * HTTP2Time.second
  package static let maximumResets = 1_000
  package static let resetSpan = 30 * HTTP2Time.second
  /// Of the last hundred streams.
  package static let maximumResetsOfHundred = 90
  package static let maximumEmptyData = 100
  package static let maximumContinuations = 16
  /// Bytes for streams that are over, beside what their windows allowed when we reset them.
  package static let unaskedBytes = 65_536

  /// How many in a span of time.
  struct Counter: Sendable {
    private var start: UInt64 = 0
    private var count = 0

    /// Whether it is one too many.
    mutating func exceeds(_ limit: Int, within span: UInt64, now: UInt64) -> Bool {
      if now &- start >= span { (start, count) = (now, 0) }
      count += 1
      return count > limit
    }
  }

  private var scanner = HTTP2FrameScanner()
  private var settings = Counter()
  private var pings = Counter()
  private var priorities = Counter()
  private var windowUpdates = Counter()
  private var idleFrames = Counter()
  private var resets = Counter()
  /// Frames of these kinds that do not count, because we sent something that they answer.
  private var windowUpdateCredit = 0
  private var pingCredit = 0
  private var continuations = 0
  private var unasked = HTTP2FloodGuard.unaskedBytes
  /// A bit for each of the last hundred streams: whether it was reset.
  private var latest: UInt128 = 0
  private var latestCount = 0

  package init() {}

  /// Looks at the frames that come in.
  ///
  /// - Parameter isOpen: whether a stream is.
  /// - Returns: where the first frame begins that is too much, and what it is; else the end.
  mutating func scan(
    _ bytes: UnsafeRawBufferPointer, now: UInt64, isOpen: (Int32) -> Bool
  ) -> (end: Int, violation: HTTP2Violation?) {
    var position = 0
    while let head = scanner.next(bytes, from: &position) {
      let violation =
        switch head.type {
        case .data, .headers, .resetStream:
          received(head.type, length: head.length, isOpen: isOpen(head.stream), now: now)
        default: received(head.type, length: head.length, isOpen: true, now: now)
        }
      if let violation { return (head.start, violation) }
    }
    return (bytes.count, nil)
  }

  private mutating func received(
    _ type: HTTP2FrameType?, length: Int, isOpen: Bool, now: UInt64
  ) -> HTTP2Violation? {
    switch type {
    case .data: return isOpen ? nil : unasked(length, now)
    case .headers:
      continuations = 0
      return isOpen ? nil : idleFrame(now)
    case .continuation: return continuation()
    case .pushPromise: return HTTP2Violation(.push, "the server pushes, which it was asked not to do")
    case .settings:
      return settings.exceeds(Self.maximumControlFrames, within: Self.controlSpan, now: now)
        ? Self.tooMany(.settings, "SETTINGS") : nil
    case .priority:
      return priorities.exceeds(Self.maximumControlFrames, within: Self.controlSpan, now: now)
        ? Self.tooMany(.priorities, "PRIORITY") : nil
    case .ping:
      if pingCredit > 0 { pingCredit -= 1; return nil }
      return pings.exceeds(Self.maximumControlFrames, within: Self.controlSpan, now: now)
        ? Self.tooMany(.pings, "PING") : nil
    case .windowUpdate:
      if windowUpdateCredit > 0 { windowUpdateCredit -= 1; return nil }
      return windowUpdates.exceeds(Self.maximumControlFrames, within: Self.controlSpan, now: now)
        ? Self.tooMany(.windowUpdates, "WINDOW_UPDATE") : nil
    case .resetStream: return isOpen ? nil : idleFrame(now)
    case .goAway, nil: return idleFrame(now)
    }
  }

  /// A DATA frame, or a PING of ours, goes out.
  package mutating func sentData() {
    // As many as Envoy allows for each frame.
    windowUpdateCredit = min(windowUpdateCredit + 10, 1_000_000)
    pingCredit = min(pingCredit + 1, 100_000)
  }

  package mutating func sentPing() { pingCredit += 1 }

  /// The server reset an open stream that it had not refused, and whose answer was not whole.
  package mutating func wasReset(now: UInt64) -> HTTP2Violation? {
    let isFlood = resets.exceeds(Self.maximumResets, within: Self.resetSpan, now: now)
    note(isReset: true)
    guard isFlood || latestCount == 100 && latest.nonzeroBitCount > Self.maximumResetsOfHundred else { return nil }
    return HTTP2Violation(
      .resets,
      isFlood
        ? "the server reset more than \(Self.maximumResets) streams within 30 s"
        : "the server reset more than \(Self.maximumResetsOfHundred) of the last 100 streams")
  }

  /// A stream came to its end otherwise.
  package mutating func ended() { note(isReset: false) }

  /// We reset a stream on which so much may still be under way.
  package mutating func abandoned(window: Int) { unasked = min(unasked + window, 1 << 30) }

  private mutating func note(isReset: Bool) {
    latest = latest << 1 & (1 << 100 - 1) | (isReset ? 1 : 0)
    latestCount = min(latestCount + 1, 100)
  }

  private mutating func unasked(_ length: Int, _ now: UInt64) -> HTTP2Violation? {
    guard length > 0 else { return idleFrame(now) }
    unasked -= length
    guard unasked < 0 else { return nil }
    return HTTP2Violation(.unaskedBytes, "the server goes on sending on streams that are over")
  }

  private mutating func continuation() -> HTTP2Violation? {
    continuations += 1
    guard continuations > Self.maximumContinuations else { return nil }
    return HTTP2Violation(
      .continuations, "the server sent a head in more than \(Self.maximumContinuations) CONTINUATION frames")
  }

  private mutating func idleFrame(_ now: UInt64) -> HTTP2Violation? {
    guard idleFrames.exceeds(Self.maximumControlFrames, within: Self.controlSpan, now: now) else { return nil }
    return HTTP2Violation(
      .idleFrames, "the server sent more than \(Self.maximumControlFrames) frames without effect within 10 s")
  }

  private static func tooMany(_ kind: HTTP2Violation.Kind, _ name: String) -> HTTP2Violation {
    HTTP2Violation(kind, "the server sent more than \(maximumControlFrames) \(name) frames within 10 s")
  }
}

/// The types of frames (RFC 9113 §6).
package enum HTTP2FrameType: UInt8, CaseIterable, Sendable {
  case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
}
