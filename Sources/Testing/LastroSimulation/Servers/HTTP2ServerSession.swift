// SPDX-License-Identifier: Apache-2.0

internal import LastroTesting

/// The server's side of an HTTP/2 connection (RFC 9113).
final class HTTP2ServerSession: ServerSession {
  private typealias Frame = LoopbackHTTP2Frame

  private struct Stream {
    var request: LoopbackRequest
    /// The header block so far, until its last frame.
    var block: [UInt8]?
    var endsWithHead = false
    var window: Int
    /// The bytes of the response that the client's windows do not allow yet.
    var rest: ArraySlice<UInt8> = []
    /// The fields after the body of the response.
    var trailers: [RawRequestHead.Field] = []
    /// The action after the last byte of the response; `nil` before there is a response, and after one that stalls.
    var ending: Ending?
  }

  private enum Ending {
    case end
    case stall
    case closeConnection
  }

  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
  private static let largestPayload = 16_384

  private weak var far: MemoryPeer?
  private let number: Int
  private let handle: (LoopbackRequest, any ServerSession) -> Void
  private var streams: [UInt32: Stream] = [:]
  /// The streams whose requests the server's code has received.
  private var handled: Set<UInt32> = []
  /// The last stream that GOAWAY has not excluded.
  private var lastStream = UInt32.max
  /// The number of body bytes that the client allows on the connection, and on a new stream.
  private var window = 65_535
  private var initialWindow = 65_535
  private var hasPreface = false
  private var isOver = false
  private let decoder: HeaderBlock.Decoder?

  /// - Parameters:
  ///   - number: the number of the connection.
  ///   - handle: called with each request.
  init(_ far: MemoryPeer, number: Int, _ handle: @escaping (LoopbackRequest, any ServerSession) -> Void) {
    self.far = far
    self.number = number
    self.handle = handle
    decoder = try? HeaderBlock.Decoder()
    far.onBytes = { [self] _ in read() }
    far.onClose = { [self] _ in isOver = true }
    send(.settings([.init(3, 100)]))
  }

  // MARK: Reading

  private func read() {
    guard let far else { return }
    if !hasPreface {
      guard far.received.count >= Self.preface.count else { return }
      guard far.received.starts(with: Self.preface) else { return end { $0.reset() } }
      far.received.removeFirst(Self.preface.count)
      hasPreface = true
    }
    while !isOver, far.received.count >= 9 {
      let header = far.received[..<9]
      let length = Int(Frame.number(header[0..<3]))
      guard far.received.count >= 9 + length else { return }
      let frame = Frame(
        .init(rawValue: header[3]), flags: header[4], stream: Frame.number(header[5..<9]) & 0x7fff_ffff,
        payload: Array(far.received[9..<9 + length]))
      far.received.removeFirst(9 + length)
      process(frame)
    }
    endAfterGoAway()
  }

  private func process(_ frame: Frame) {
    switch frame.kind {
    case .settings where frame.flags & Frame.acknowledgement == 0:
      readSettings(frame)
      send(Frame(.settings, flags: Frame.acknowledgement, stream: 0))
    case .ping where frame.flags & Frame.acknowledgement == 0:
      send(Frame(.ping, flags: Frame.acknowledgement, stream: 0, payload: frame.payload))
    case .headers:
      guard let head = try? RawRequestHead(lines: ["  HTTP/2"], bytes: []) else { return }
      var request = LoopbackRequest(head, connection: number)
      request.stream = frame.stream
      let skipped = frame.flags & Frame.hasPriority != 0 ? 5 : 0
      let block = Array(frame.payload.dropFirst(skipped))
      // Blocks of excluded streams are decoded for the sake of the table only (RFC 9113 §4.3).
      guard frame.stream <= lastStream else { return _ = try? decoder?.decode(block) }
      let ends = frame.flags & Frame.endStream != 0
      if streams[frame.stream] == nil {
        streams[frame.stream] = Stream(request: request, block: block, endsWithHead: ends, window: initialWindow)
      } else {
        // Trailers.
        streams[frame.stream]?.block = block
        streams[frame.stream]?.endsWithHead = true
      }
      if frame.flags & Frame.endHeaders != 0 { completeHead(frame.stream) }
    case .continuation:
      streams[frame.stream]?.block? += frame.payload
      if frame.flags & Frame.endHeaders != 0 { completeHead(frame.stream) }
    case .data:
      streams[frame.stream]?.request.body += frame.payload
      if !frame.payload.isEmpty {
        send(.windowUpdate(UInt32(frame.payload.count), stream: 0))
        if streams[frame.stream] != nil { send(.windowUpdate(UInt32(frame.payload.count), stream: frame.stream)) }
      }
      if frame.flags & Frame.endStream != 0 { completeRequest(frame.stream) }
    case .windowUpdate:
      let count = Int(Frame.number(frame.payload) & 0x7fff_ffff)
      if frame.stream == 0 { window += count } else { streams[frame.stream]?.window += count }
      sendBodies()
    case .resetStream: streams[frame.stream] = nil
    default: break
    }
  }

  private func readSettings(_ frame: Frame) {
    for index in stride(from: 0, to: frame.payload.count - 5, by: 6) {
      // SETTINGS_INITIAL_WINDOW_SIZE also changes the windows of open streams (RFC 9113 §6.9.2).
      guard Frame.number(frame.payload[index..<index + 2]) == 4 else { continue }
      let size = Int(Frame.number(frame.payload[index + 2..<index + 6]))
      for stream in streams.keys { streams[stream]?.window += size - initialWindow }
      initialWindow = size
    }
    sendBodies()
  }

  private func completeHead(_ id: UInt32) {
    guard let block = streams[id]?.block else { return }
    streams[id]?.block = nil
    guard let fields = try? decoder?.decode(block) else { return end { $0.reset() } }
    let isTrailers = streams[id]?.request.head.method.isEmpty == false
    if isTrailers {
      streams[id]?.request.trailerFields = fields
    } else {
      let value = { (name: String) in fields.first { $0.name == name }?.value ?? "" }
      streams[id]?.request.head.method = value(":method")
      streams[id]?.request.head.target = value(":path")
      // As over HTTP/1.1, handlers find the host in a field.
      streams[id]?.request.head.fields =
        [.init(name: "Host", value: value(":authority"))] + fields.filter { !$0.name.hasPrefix(":") }
    }
    if streams[id]?.endsWithHead == true { completeRequest(id) }
  }

  private func completeRequest(_ id: UInt32) {
    streams[id]?.request.isComplete = true
    guard let request = streams[id]?.request else { return }
    handled.insert(id)
    handle(request, self)
  }

  // MARK: Responding

  func respond(_ response: LoopbackResponse, to request: LoopbackRequest) {
    guard !isOver, let id = request.stream, streams[id] != nil else { return }
    switch response.fault?.kind {
    case nil: sendHead(of: response, to: request.method, id, .end)
    case .stall: break
    case .reset: end { $0.reset() }
    case .close: end { $0.end() }
    case .truncateBody(let count): sendHead(of: response, to: request.method, id, .closeConnection, upTo: count)
    case .stallBody(let count): sendHead(of: response, to: request.method, id, .stall, upTo: count)
    case .http2(.resetStream(let code), _):
      streams[id] = nil
      send(.resetStream(code, stream: id))
    case .http2(.goAway, _): goAway(without: id)
    case .http2: end { $0.reset() }
    }
    endAfterGoAway()
  }

  /// Ends the connection for further requests, and says that one was not processed. Those that the server's code has
  /// received must not be excluded, because the client may send what is excluded again (RFC 9113 §6.8).
  private func goAway(without id: UInt32) {
    let last = handled.filter { $0 != id }.max() ?? 0
    if last > id { send(.resetStream(.refusedStream, stream: id)) }
    for other in streams.keys where other > last || other == id { streams[other] = nil }
    lastStream = last
    send(.goAway(lastStream: last))
  }

  /// Ends the connection after GOAWAY, once the remaining streams are answered (RFC 9113 §6.8).
  private func endAfterGoAway() {
    if lastStream < .max, streams.isEmpty, !isOver { end { $0.end() } }
  }

  private func sendHead(
    of response: LoopbackResponse, to method: String, _ id: UInt32, _ ending: Ending, upTo limit: Int = .max
  ) {
    let body = response.sentBody(to: method).prefix(max(0, limit))
    for interim in response.interimResponses { send(.headers(interim.http2Fields, stream: id)) }
    let endsAtOnce = body.isEmpty && response.trailers.isEmpty && ending == .end
    send(.headers(response.http2Fields, stream: id, ends: endsAtOnce))
    if endsAtOnce { return streams[id] = nil }
    streams[id]?.rest = body[...]
    streams[id]?.trailers = response.trailers
    streams[id]?.ending = ending
    sendBodies()
  }

  /// Sends what the client's windows allow, stream by stream in the order of their numbers.
  private func sendBodies() {
    for id in streams.keys.sorted() {
      while !isOver, let stream = streams[id], let ending = stream.ending {
        let count = max(0, min(stream.rest.count, stream.window, window, Self.largestPayload))
        guard count > 0 || stream.rest.isEmpty else { break }
        let isLast = count == stream.rest.count
        let ends = isLast && ending == .end
        send(.data(stream.rest.prefix(count), stream: id, ends: ends && stream.trailers.isEmpty))
        if ends, !stream.trailers.isEmpty { send(.headers(stream.trailers, stream: id, ends: true)) }
        window -= count
        streams[id]?.window -= count
        streams[id]?.rest = stream.rest.dropFirst(count)
        guard isLast else { continue }
        // A response that stalls keeps its stream open.
        if ending == .stall { streams[id]?.ending = nil } else { streams[id] = nil }
        if ending == .closeConnection { end { $0.end(isClean: false) } }
      }
    }
  }

  private func send(_ frame: Frame) { if !isOver { far?.send(frame.bytes) } }

  private func end(_ how: (MemoryPeer) -> Void) {
    isOver = true
    streams = [:]
    if let far { how(far) }
  }
}
