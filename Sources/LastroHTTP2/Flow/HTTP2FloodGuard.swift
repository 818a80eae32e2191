// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// Bounds what a server may cost a connection, by a ``PeerBudget`` for each kind of cost.
///
/// Bodies are bounded by windows, and interim responses by the stream's own budget. The rest is bounded here:
///
/// - ``controlFrames``: frames that we act on although nothing of ours gave reason for them.
/// - ``idleBytes``: bytes of frames that we ignore: those of streams that we or the server ended, those of unknown
///   types (RFC 9113 §5.1, §5.5), and GOAWAY.
/// - ``emptyData``: DATA frames without bytes, for each stream.
/// - ``resets``: streams that the server resets. A connection that does little else gets no new requests.
///
/// What we send pays in advance for the frames that it provokes. A server may grant credit for every byte that it
/// reads, once on the stream and once on the connection, and may measure with a PING for each DATA frame.
package struct HTTP2FloodGuard: Sendable {
  /// SETTINGS, PING, PRIORITY, and WINDOW_UPDATE beyond the bytes we sent.
  static let controlFrames = PeerBudget.Rule(burst: 1_000, perSecond: 100)
  static let idleBytes = PeerBudget.Rule(burst: 65_536, perSecond: 65_536)
  static let emptyData = PeerBudget.Rule(burst: 100, perSecond: 100)
  static let resets = PeerBudget.Rule(burst: 100, perSecond: 33)
  /// The empty DATA frames that one with bytes pays for.
  static let emptyDataPerData = 10
  /// The resets that one complete response pays for.
  private static let resetsPerResponse = 10
  /// The small CONTINUATION frames that one header block may have.
  static let smallContinuations = 16
  /// Bytes of a header block that pay for one more CONTINUATION frame.
  private static let bytesPerContinuation = 256
  /// Bytes that may arrive for any stream that is over, such as a late RST_STREAM, and for all of them in advance.
  private static let idleBytesPerStream = (one: 1_024, all: 1 << 30)
  /// The most WINDOW_UPDATE frames that sent bytes pay for in advance: a server reads no more than its window behind.
  private static let maximumGrants = 1 << 24
  private static let maximumProvoked = 100_000
  private static let frameHead = 9
  /// The largest frame that we announce. nghttp2 refuses larger ones.
  private static let maximumFrameBytes = 16_384

  private var scanner = HTTP2FrameScanner()
  private var control = PeerBudget()
  private var idle = PeerBudget()
  private var reset = PeerBudget()
  /// WINDOW_UPDATE frames that are paid for: two for each byte that we sent.
  private var grants = 0
  /// PING and SETTINGS frames that are paid for; at first the server's SETTINGS and its acknowledgement of ours.
  private var provoked = 2
  /// The header block that is being received.
  private var block = (bytes: 0, continuations: 0, isIdle: false)
  /// The most bytes of a header block, as it is coded. nghttp2 has to decode all of it, however soon it is refused.
  private let maximumBlockBytes: Int

  /// - Parameter maximumHeadBytes: the limit of a head, decoded. A head that exceeds it costs only its stream.
  init(maximumHeadBytes: Int = ExchangeLimits().headBytes) {
    maximumBlockBytes = 2 * min(maximumHeadBytes, Int(Int32.max)) + 65_536
  }

  /// Looks at the frames that come in.
  ///
  /// - Parameter isOpen: whether a stream is open.
  /// - Returns: where the first frame begins that no budget covers, and the violation; else the end.
  mutating func scan(
    _ bytes: UnsafeRawBufferPointer, now: UInt64, isOpen: (Int32) -> Bool
  ) -> (end: Int, violation: HTTP2Violation?) {
    var position = 0
    while let head = scanner.next(bytes, from: &position) {
      if let violation = received(head, now, isOpen) { return (head.start, violation) }
    }
    return (bytes.count, nil)
  }

  private mutating func received(
    _ head: HTTP2FrameScanner.Head, _ now: UInt64, _ isOpen: (Int32) -> Bool
  ) -> HTTP2Violation? {
    switch head.type {
    case .data, .resetStream: return isOpen(head.stream) ? nil : ignored(head.length, now)
    case .headers:
      block = (head.length, 0, !isOpen(head.stream))
      return block.isIdle ? ignored(head.length, now) : nil
    case .continuation: return continuation(head.length, now)
    case .pushPromise: return HTTP2Violation(.push, "the server pushes, which it was asked not to do")
    case .settings: return provokedOrControl(.settings, "SETTINGS", now)
    case .ping: return provokedOrControl(.pings, "PING", now)
    case .priority: return control(.priorities, "PRIORITY", now)
    case .windowUpdate:
      if grants > 0 { grants -= 1; return nil }
      if head.stream != 0, !isOpen(head.stream) { return ignored(head.length, now) }
      return control(.windowUpdates, "WINDOW_UPDATE", now)
    case .goAway, nil: return ignored(head.length, now)
    }
  }

  // MARK: what we send, and progress

  /// A DATA frame went out.
  mutating func sentData(_ count: Int) {
    grants = min(grants + 2 * count, Self.maximumGrants)
    sentProvoking()
  }

  /// A PING or SETTINGS frame goes out, which is acknowledged.
  mutating func sentProvoking() { provoked = min(provoked + 1, Self.maximumProvoked) }

  /// Bytes of a body came, for an open stream.
  mutating func receivedBody(_ count: Int) {
    idle.earn(count)
    reset.earn(1)
  }

  /// A stream is over.
  ///
  /// - Parameter window: the bytes of its response that may still be under way.
  mutating func ended(window: Int) {
    idle.earn(Self.idleBytesPerStream.one + window, upTo: Self.idleBytesPerStream.all)
  }

  /// A response is complete.
  mutating func responded() { reset.earn(Self.resetsPerResponse) }

  /// The server reset an open stream that it had not refused, and whose response was not complete.
  ///
  /// - Returns: whether the connection may take new requests.
  mutating func wasReset(now: UInt64) -> Bool { reset.spend(1, of: Self.resets, now: now) }

  // MARK: costs

  private mutating func provokedOrControl(
    _ kind: HTTP2Violation.Kind, _ name: String, _ now: UInt64
  ) -> HTTP2Violation? {
    if provoked > 0 { provoked -= 1; return nil }
    return control(kind, name, now)
  }

  private mutating func control(_ kind: HTTP2Violation.Kind, _ name: String, _ now: UInt64) -> HTTP2Violation? {
    let rule = Self.controlFrames
    guard !control.spend(1, of: rule, now: now) else { return nil }
    return HTTP2Violation(
      kind,
      "the server floods the connection with \(name) frames: more than \(rule.burst) at once, or \(rule.perSecond) a second"
    )
  }

  private mutating func ignored(_ length: Int, _ now: UInt64) -> HTTP2Violation? {
    let cost = Self.frameHead + min(length, Self.maximumFrameBytes)
    guard !idle.spend(cost, of: Self.idleBytes, now: now) else { return nil }
    return HTTP2Violation(
      .idleBytes, "the server floods the connection with frames of closed streams, or of unknown types")
  }

  private mutating func continuation(_ length: Int, _ now: UInt64) -> HTTP2Violation? {
    block.bytes += length
    block.continuations += 1
    guard block.continuations <= Self.smallContinuations + block.bytes / Self.bytesPerContinuation else {
      return HTTP2Violation(
        .continuations,
        "the server sent a head in more than \(Self.smallContinuations) CONTINUATION frames with little in them")
    }
    guard block.bytes <= maximumBlockBytes else {
      return HTTP2Violation(
        .continuations, "the server sent a head of more than \(maximumBlockBytes) bytes, as it is coded")
    }
    return block.isIdle ? ignored(length, now) : nil
  }
}

/// The types of frames (RFC 9113 §6).
package enum HTTP2FrameType: UInt8, CaseIterable, Sendable {
  case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
}
