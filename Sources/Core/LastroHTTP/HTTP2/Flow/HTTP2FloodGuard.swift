// SPDX-License-Identifier: Apache-2.0

internal import LastroWire

/// Limits the cost that a server can cause on a connection, with a ``PeerBudget`` for each kind of cost.
///
/// Bodies are bounded by windows, and interim responses by the stream's own budget. The rest is bounded here:
///
/// - ``controlFrames``: frames that we process although nothing that we sent calls for them.
/// - ``idleBytes``: bytes of frames that we ignore: frames of closed streams and of unknown types (RFC 9113 §5.1,
///   §5.5), and GOAWAY.
/// - ``emptyData``: DATA frames without bytes, for each stream.
/// - ``resets``: streams that the server resets. A connection on which little else happens gets no new requests.
///
/// Frames that we send pay in advance for the frames that they provoke. A server may grant credit for every byte that
/// it reads, once for the stream and once for the connection, and may send a PING for each DATA frame.
package struct HTTP2FloodGuard: Sendable {
  /// The budget of SETTINGS, PING and PRIORITY, and of WINDOW_UPDATE frames that exceed the bytes we sent.
  static let controlFrames = PeerBudget.Rule(burst: 1_000, perSecond: 100)
  static let idleBytes = PeerBudget.Rule(burst: 65_536, perSecond: 65_536)
  static let emptyData = PeerBudget.Rule(burst: 100, perSecond: 100)
  static let resets = PeerBudget.Rule(burst: 100, perSecond: 33)
  /// The number of empty DATA frames that one DATA frame with content pays for.
  static let emptyDataPerData = 10
  /// The number of resets that one complete response pays for.
  private static let resetsPerResponse = 10
  /// The number of small CONTINUATION frames that one header block may have.
  static let smallContinuations = 16
  /// The number of bytes of a header block that pay for one more CONTINUATION frame.
  private static let bytesPerContinuation = 256
  /// The bytes that may arrive for a closed stream, such as a late RST_STREAM, and the limit for all closed streams
  /// together.
  private static let idleBytesPerStream = (one: 1_024, all: 1 << 30)
  /// The maximum number of WINDOW_UPDATE frames that sent bytes pay for in advance. A server's credit lags behind by at
  /// most its window.
  private static let maximumGrants = 1 << 24
  private static let maximumProvoked = 100_000
  private static let frameHead = 9
  /// The largest frame size that we announce. nghttp2 rejects larger frames.
  private static let maximumFrameBytes = 16_384

  private var scanner = HTTP2FrameScanner()
  private var control = PeerBudget()
  private var idle = PeerBudget()
  private var reset = PeerBudget()
  /// The number of WINDOW_UPDATE frames that are paid for: two for each byte sent.
  private var grants = 0
  /// The number of PING and SETTINGS frames that are paid for. It starts with two: the server's SETTINGS and its
  /// acknowledgement of ours.
  private var provoked = 2
  /// The header block that is being received.
  private var block = (bytes: 0, continuations: 0, isIdle: false)
  /// The maximum encoded size of a header block in bytes. nghttp2 has to decode all of it, even if it is rejected
  /// early.
  private let maximumBlockBytes: Int

  /// - Parameter maximumHeadBytes: the limit of a decoded head. A head that exceeds it costs only its stream.
  init(maximumHeadBytes: Int = ExchangeLimits().headBytes) {
    maximumBlockBytes = 2 * min(maximumHeadBytes, Int(Int32.max)) + 65_536
  }

  /// Inspects received frames and charges their cost.
  ///
  /// - Parameter isOpen: returns whether a stream is open.
  /// - Returns: the offset of the first frame that no budget covers, with the violation; otherwise the end of the
  ///   input.
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
    case .pushPromise: return HTTP2Violation(.push, "the server pushes responses although push is disabled")
    case .settings: return provokedOrControl("SETTINGS", now)
    case .ping: return provokedOrControl("PING", now)
    case .priority: return control("PRIORITY", now)
    case .windowUpdate:
      if grants > 0 { grants -= 1; return nil }
      if head.stream != 0, !isOpen(head.stream) { return ignored(head.length, now) }
      return control("WINDOW_UPDATE", now)
    case .goAway, nil: return ignored(head.length, now)
    }
  }

  // MARK: sent frames, and progress

  /// Records that a DATA frame was sent.
  mutating func sentData(_ count: Int) {
    grants = min(grants + 2 * count, Self.maximumGrants)
    sentProvoking()
  }

  /// Records that a PING or SETTINGS frame was sent, which the server acknowledges.
  mutating func sentProvoking() { provoked = min(provoked + 1, Self.maximumProvoked) }

  /// Records that bytes of a body were received on an open stream.
  mutating func receivedBody(_ count: Int) {
    idle.earn(count)
    reset.earn(1)
  }

  /// Records that a stream was closed.
  ///
  /// - Parameter window: the number of bytes of its response that may still be in flight.
  mutating func ended(window: Int) {
    idle.earn(Self.idleBytesPerStream.one + window, upTo: Self.idleBytesPerStream.all)
  }

  /// Records that a response is complete.
  mutating func responded() { reset.earn(Self.resetsPerResponse) }

  /// Records that the server reset an open stream without refusing it and before its response was complete.
  ///
  /// - Returns: whether the connection may get new requests.
  mutating func wasReset(now: UInt64) -> Bool { reset.spend(1, of: Self.resets, now: now) }

  // MARK: costs

  private mutating func provokedOrControl(_ name: String, _ now: UInt64) -> HTTP2Violation? {
    if provoked > 0 { provoked -= 1; return nil }
    return control(name, now)
  }

  private mutating func control(_ name: String, _ now: UInt64) -> HTTP2Violation? {
    let rule = Self.controlFrames
    guard !control.spend(1, of: rule, now: now) else { return nil }
    return HTTP2Violation(
      .controlFrames,
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
        "the server sent a head in more than \(Self.smallContinuations) CONTINUATION frames with little content")
    }
    guard block.bytes <= maximumBlockBytes else {
      return HTTP2Violation(
        .continuations, "the server sent a head of more than \(maximumBlockBytes) bytes in encoded form")
    }
    return block.isIdle ? ignored(length, now) : nil
  }
}

/// A frame type (RFC 9113 §6).
package enum HTTP2FrameType: UInt8, CaseIterable, Sendable {
  case data, headers, priority, resetStream, settings, pushPromise, ping, goAway, windowUpdate, continuation
}
