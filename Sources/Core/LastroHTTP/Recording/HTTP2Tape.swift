// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The frames of an HTTP/2 connection, on their way to the tapes of the calls that use it.
///
/// The tape of a transfer gets the frames of its own stream, and those that concern the connection: on stream 0, and on
/// streams that are not open. It gets nothing of the streams of other transfers.
final class HTTP2Tape {
  private struct Stream {
    /// The tape of the stream's transfer; `nil` if its call is not recorded.
    var tape: TransferTape?
    var sentEnd = false
    var receivedEnd = false
  }

  private enum Route {
    case none
    case own(TransferTape)
    case all
  }

  /// The state of one direction.
  private struct Direction {
    let isSent: Bool
    var head = FramePiece.Head(type: 0, flags: 0, stream: 0, length: 0)
    var route = Route.none
    /// The number of payload bytes of the current frame so far.
    var offset = 0
    /// The payload of the current frame, if it is SETTINGS or WINDOW_UPDATE.
    var payload: [UInt8] = []

    /// Whether a header block has begun, and more of its frames follow.
    var isWithinBlock: Bool {
      let type = HTTP2FrameType(rawValue: head.type)
      return (type == .headers || type == .continuation) && head.flags & 4 == 0
    }
  }

  /// A tape and the pieces that it gets of one read or write.
  private struct Share {
    let tape: TransferTape
    var pieces: [FramePiece] = []
  }

  /// The largest number of a setting that is kept. RFC 9113 and its extensions define smaller ones.
  private static let mostSettings = 32
  /// The number of bytes of a GOAWAY before its debug data.
  private static let goAwayBytes = 8
  /// The window of a new connection (RFC 9113 §6.9.2).
  static let firstWindow = 65_535

  private let receiving = HTTP2FrameReader(ofClient: false)
  private let sending = HTTP2FrameReader(ofClient: true)
  private var received = Direction(isSent: false)
  private var sent = Direction(isSent: true)
  private var streams: [Int32: Stream] = [:]
  /// The number of streams that were opened so far, and the number of the latest one.
  private var openedStreams = 0
  private var latestStream: Int32 = 0
  /// The tapes of the calls that use the connection, one of each call.
  private var followers: [TransferTape] = []
  private var shares: [Share] = []
  private var settings: [Int: Int] = [:]
  private var hasSettings = false
  /// The number of SETTINGS that were sent and not acknowledged.
  private var unacknowledged = 0
  private var window = HTTP2Tape.firstWindow

  /// - Parameter early: the bytes that arrived in the handshake.
  init(early: [UInt8]) {
    early.withUnsafeBytes { _ = pieces(of: $0, isSent: false) { _ in nil } }
  }

  /// Returns the state of the connection.
  func note(heardAt: Int64) -> SessionNote {
    SessionNote(
      settings: hasSettings ? settings.sorted { $0.key < $1.key }.map { [$0.key, $0.value] } : nil,
      unacknowledged: unacknowledged, window: window, heardAt: heardAt)
  }

  /// The tapes of the calls that use the connection and have not ended.
  func currentFollowers() -> [TransferTape] {
    followers.removeAll { $0.isOver }
    return followers
  }

  /// Returns what each tape gets of bytes that were sent or received.
  ///
  /// - Parameter begin: returns the tape for a new stream; `nil` if its call is not recorded.
  func pieces(
    of bytes: UnsafeRawBufferPointer, isSent: Bool, begin: (Int32) -> TransferTape?
  ) -> [(tape: TransferTape, pieces: [FramePiece])] {
    shares = currentFollowers().map { Share(tape: $0) }
    var direction = isSent ? sent : received
    (isSent ? sending : receiving).read(bytes) { part in
      switch part {
      case .head(let head): frameBegins(head, &direction, begin)
      case .fields(let fields, let isInvalid):
        var piece = FramePiece()
        if case .own = direction.route { piece.fields = fields }
        piece.isInvalid = isInvalid
        add(piece, direction.route)
      case .payload(let bytes): add(bytes, &direction)
      case .end:
        frameEnds(direction)
        var piece = FramePiece()
        piece.isEnd = true
        add(piece, direction.route)
      }
    }
    // A part of a frame's head, within a header block.
    if !isSent, shares.allSatisfy(\.pieces.isEmpty), case .own = direction.route, direction.isWithinBlock {
      add(FramePiece(), direction.route)
    }
    if isSent { sent = direction } else { received = direction }
    defer { shares = [] }
    return shares.filter { !$0.pieces.isEmpty }.map { ($0.tape, $0.pieces) }
  }

  /// Leaves out a transfer that shared a lost connection. Limits of floods and many violations concern the frames of all
  /// transfers.
  func noteLoss(_ loss: HTTP2Loss, of tape: TransferTape) {
    if case .closed = loss { return }
    if openedStreams > 1 { tape.leaveOut(.sharedConnection) }
  }

  /// Leaves out the transfers that share the connection, because their limits depend on the delivery of all sent bytes.
  func noteDelivery() {
    guard streams.count > 1 else { return }
    for stream in streams.values { stream.tape?.leaveOut(.sharedConnection) }
  }

  // MARK: Frames

  private func frameBegins(_ head: FramePiece.Head, _ direction: inout Direction, _ begin: (Int32) -> TransferTape?) {
    direction.head = head
    (direction.offset, direction.payload) = (0, [])
    // A header block is routed as a whole.
    if head.type != HTTP2FrameType.continuation.rawValue {
      direction.route = route(head, isSent: direction.isSent, begin)
    }
    add(FramePiece(head), direction.route)
    if direction.isSent, head.type == HTTP2FrameType.data.rawValue {
      window -= head.length
      leaveOutUploads(beside: head.stream)
    }
  }

  /// Leaves out the transfers whose uploads share the connection's window with another one.
  private func leaveOutUploads(beside number: Int32) {
    for (other, stream) in streams where other != number && !stream.sentEnd { stream.tape?.leaveOut(.sharedUpload) }
  }

  private func route(_ head: FramePiece.Head, isSent: Bool, _ begin: (Int32) -> TransferTape?) -> Route {
    if head.stream == 0 { return .all }
    if isSent, head.type == HTTP2FrameType.headers.rawValue, streams[head.stream] == nil {
      let tape = begin(head.stream)
      openedStreams += 1
      latestStream = max(latestStream, head.stream)
      streams[head.stream] = Stream(tape: tape)
      if let tape { follow(tape) }
    }
    guard let stream = streams[head.stream] else {
      // Frames of streams that were closed are ignored.
      let wasOpen = head.stream % 2 == 1 && head.stream <= latestStream
      return isSent || wasOpen ? .none : .all
    }
    guard let tape = stream.tape, followers.contains(where: { $0 === tape }) else { return .none }
    return .own(tape)
  }

  /// Gives a tape what concerns the connection from here on, in place of the call's earlier transfer.
  private func follow(_ tape: TransferTape) {
    followers.removeAll { $0 === tape || $0.isOfSameCall(as: tape) }
    followers.append(tape)
    if !shares.contains(where: { $0.tape === tape }) { shares.append(Share(tape: tape)) }
  }

  private func frameEnds(_ direction: Direction) {
    let (head, payload) = (direction.head, direction.payload)
    switch HTTP2FrameType(rawValue: head.type) {
    case .resetStream: streams[head.stream] = nil
    case .headers, .data:
      guard head.flags & 1 != 0, streams[head.stream] != nil else { break }
      if direction.isSent { streams[head.stream]?.sentEnd = true } else { streams[head.stream]?.receivedEnd = true }
      if let stream = streams[head.stream], stream.sentEnd, stream.receivedEnd { streams[head.stream] = nil }
    case .settings where direction.isSent: if head.flags & 1 == 0 { unacknowledged += 1 }
    case .settings where head.flags & 1 != 0: unacknowledged = max(0, unacknowledged - 1)
    case .settings:
      hasSettings = true
      for start in stride(from: 0, to: payload.count - 5, by: 6) {
        let number = Int(payload[start]) << 8 | Int(payload[start + 1])
        guard number <= Self.mostSettings else { continue }
        settings[number] = payload[(start + 2)..<(start + 6)].reduce(0) { $0 << 8 | Int($1) }
      }
    case .windowUpdate where !direction.isSent && head.stream == 0:
      window += payload.prefix(4).reduce(0) { $0 << 8 | Int($1) } & 0x7FFF_FFFF
    default: break
    }
  }

  // MARK: Payloads

  private func add(_ bytes: UnsafeRawBufferPointer, _ direction: inout Direction) {
    let type = HTTP2FrameType(rawValue: direction.head.type)
    if type == .settings || type == .windowUpdate { direction.payload += bytes }
    let kept = min(bytes.count, max(0, keptBytes(of: type, direction) - direction.offset))
    direction.offset += bytes.count
    var piece = FramePiece()
    if case .none = direction.route { return }
    piece.payload = Array(bytes.prefix(kept))
    piece.left = bytes.count - kept
    add(piece, direction.route)
  }

  /// Returns how many bytes of the current frame's payload are kept, from its first byte on.
  private func keptBytes(of type: HTTP2FrameType?, _ direction: Direction) -> Int {
    switch type {
    case .data:
      if case .own(let tape) = direction.route, tape.keepsBodies { return .max }
      // The length of the padding.
      return direction.head.flags & 8 != 0 ? 1 : 0
    case .goAway: return Self.goAwayBytes
    case .headers, .priority, .resetStream, .settings, .ping, .windowUpdate: return .max
    case .pushPromise, .continuation, nil: return 0
    }
  }

  /// Adds a piece to the shares of a route.
  private func add(_ piece: FramePiece, _ route: Route) {
    switch route {
    case .none: break
    case .own(let tape):
      if let index = shares.firstIndex(where: { $0.tape === tape }) { append(piece, to: index) }
    case .all: for index in shares.indices { append(piece, to: index) }
    }
  }

  /// Appends a piece, or joins it with the one before.
  private func append(_ piece: FramePiece, to index: Int) {
    guard piece.head == nil, let last = shares[index].pieces.indices.last else {
      shares[index].pieces.append(piece)
      return
    }
    shares[index].pieces[last].fields += piece.fields
    shares[index].pieces[last].payload += piece.payload
    shares[index].pieces[last].left += piece.left
    if piece.isInvalid { shares[index].pieces[last].isInvalid = true }
    if piece.isEnd { shares[index].pieces[last].isEnd = true }
  }
}
