// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroSimulation

@testable import LastroHTTP
@testable import LastroTesting

/// An HTTP/2 server at the far end of a link, which works frame by frame.
final class MemoryHTTP2Server {
  typealias Frame = LoopbackHTTP2Frame

  unowned let far: MemoryPeer
  /// The maximum number of concurrent streams; the server refuses further ones. `nil`: no limit.
  let streams: UInt32?
  /// Called at the head of a request that is not refused, with its body still to come.
  var onHead: ((MemoryHTTP2Server, MemoryRequest) -> Void)?
  /// Called after each frame of a request, even if the request is refused.
  var onFrame: ((MemoryHTTP2Server, Frame) -> Void)?
  /// Called when a request is complete.
  var onRequest: (MemoryHTTP2Server, MemoryRequest) -> Void
  /// The requests that were read, in order.
  private(set) var requests: [MemoryRequest] = []
  /// The streams that are open, with their requests.
  private(set) var open: [UInt32: MemoryRequest] = [:]
  private(set) var mostOpen = 0
  /// The streams that were refused because of the limit.
  private(set) var refused: [UInt32] = []
  /// The streams that the client has reset.
  private(set) var resets: [UInt32] = []
  private(set) var pings = 0
  var answersPings = true
  private(set) var latestStream: UInt32 = 0
  private var hasPreface = false
  /// The time of the server's settings. It sends no other frame before them (RFC 9113 §3.4).
  private let settingsAt: Duration
  /// The last stream that was announced as processed.
  private var lastProcessed = UInt32.max
  private let decoder = try? HeaderBlock.Decoder()

  /// - Parameters:
  ///   - window: the number of bytes of each upload that the client may send before the server grants more credit.
  ///   - tunnels: whether the server announces extended CONNECT.
  init(
    _ far: MemoryPeer, streams: UInt32? = nil, window: UInt32? = nil, tunnels: Bool = false,
    settingsAfter delay: Duration = .zero,
    _ onRequest: @escaping (MemoryHTTP2Server, MemoryRequest) -> Void
  ) {
    self.far = far
    self.streams = streams
    self.onRequest = onRequest
    settingsAt = far.now + delay
    let limits = [
      streams.map { LoopbackHTTP2Settings.Setting(3, $0) }, window.map { .init(4, $0) }, tunnels ? .init(8, 1) : nil,
    ]
    send(.settings(limits.compactMap(\.self)))
    far.onBytes = { [self] _ in read() }
  }

  // MARK: Receiving

  private func read() {
    if !hasPreface {
      guard far.received.count >= 24 else { return }
      far.received.removeFirst(24)
      hasPreface = true
    }
    while far.received.count >= 9 {
      let header = far.received[..<9]
      let length = Int(Frame.number(header[0..<3]))
      guard far.received.count >= 9 + length else { return }
      let payload = Array(far.received[9..<9 + length])
      let stream = Frame.number(header[5..<9]) & 0x7fff_ffff
      far.received.removeFirst(9 + length)
      let frame = Frame(.init(rawValue: header[3]), flags: header[4], stream: stream, payload: payload)
      take(frame)
      if frame.kind == .headers || frame.kind == .data { onFrame?(self, frame) }
    }
  }

  private func take(_ frame: Frame) {
    switch frame.kind {
    case .settings where frame.flags & Frame.acknowledgement == 0:
      send(Frame(.settings, flags: Frame.acknowledgement, stream: 0))
    case .ping where frame.flags & Frame.acknowledgement == 0:
      pings += 1
      if answersPings { send(Frame(.ping, flags: Frame.acknowledgement, stream: 0, payload: frame.payload)) }
    case .headers: begin(frame)
    case .data:
      open[frame.stream]?.body += frame.payload
      if !frame.payload.isEmpty {
        send(.windowUpdate(UInt32(frame.payload.count), stream: 0))
        if open[frame.stream] != nil { send(.windowUpdate(UInt32(frame.payload.count), stream: frame.stream)) }
      }
      if frame.flags & Frame.endStream != 0 { complete(frame.stream) }
    case .resetStream:
      resets.append(frame.stream)
      open[frame.stream] = nil
    default: break
    }
  }

  private func begin(_ frame: Frame) {
    let skipped = frame.flags & Frame.hasPriority != 0 ? 5 : 0
    guard let fields = try? decoder?.decode(Array(frame.payload.dropFirst(skipped))) else { return }
    if frame.stream > lastProcessed { return }
    if open.count >= Int(streams ?? .max) {
      refused.append(frame.stream)
      return send(.resetStream(.refusedStream, stream: frame.stream))
    }
    var request = MemoryRequest(stream: frame.stream)
    request.fields = fields.map { ($0.name, $0.value) }
    request.method = request.value(":method") ?? ""
    request.target = request.value(":path") ?? ""
    latestStream = max(latestStream, frame.stream)
    open[frame.stream] = request
    mostOpen = max(mostOpen, open.count)
    onHead?(self, request)
    if frame.flags & Frame.endStream != 0 { complete(frame.stream) }
  }

  private func complete(_ stream: UInt32) {
    guard let request = open[stream] else { return }
    requests.append(request)
    onRequest(self, request)
  }

  // MARK: Sending

  func send(_ frame: Frame, after delay: Duration = .zero) {
    far.send(frame.bytes, after: max(delay, settingsAt - far.now))
  }

  /// Sends GOAWAY, and drops all streams above the last one.
  func goAway(lastStream: UInt32) {
    lastProcessed = lastStream
    for stream in open.keys where stream > lastStream { open[stream] = nil }
    send(.goAway(lastStream: lastStream))
  }

  /// Responds to a request, unless it has been reset in the meantime.
  func respond(_ body: String, to request: MemoryRequest, status: Int = 200, after delay: Duration = .zero) {
    far.act(after: delay) { [self] in
      guard open.removeValue(forKey: request.stream) != nil else { return }
      send(.head(status, stream: request.stream))
      send(.data(body.utf8, stream: request.stream, ends: true))
    }
  }

  func reset(_ request: MemoryRequest, _ code: LoopbackHTTP2Code) {
    open[request.stream] = nil
    send(.resetStream(code, stream: request.stream))
  }
}

extension MemoryPeer {
  /// Performs an action later, unless the connection has closed in the meantime.
  func act(after delay: Duration, _ body: @escaping () -> Void) {
    later(delay) { [weak self] in if self?.isClosed == false { body() } }
  }
}

extension MemoryNetwork {
  /// Makes every dial open a link to an HTTP/2 server.
  ///
  /// - Parameter made: called with each server.
  func serveHTTP2(
    after delay: Duration = .zero, streams: UInt32? = nil, settingsAfter settingsDelay: Duration = .zero,
    made: @escaping (MemoryHTTP2Server) -> Void = { _ in },
    _ onRequest: @escaping (MemoryHTTP2Server, MemoryRequest) -> Void
  ) {
    applicationProtocol = { $0.request.tls?.applicationProtocols.first }
    dialing = { _ in
      .open(after: delay) { link in
        let server = MemoryHTTP2Server(link.far, streams: streams, settingsAfter: settingsDelay, onRequest)
        made(server)
      }
    }
  }
}
