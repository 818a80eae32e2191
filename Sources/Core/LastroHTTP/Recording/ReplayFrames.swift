// SPDX-License-Identifier: Apache-2.0

internal import Lastro

/// The frames that a replayed HTTP/2 connection receives, in bytes.
///
/// A header block is encoded as literals that refer to nothing, so that it means the same on every connection. Its frames
/// are as many as were received, and each read delivers the fields that it delivered then.
struct ReplayFrames {
  /// The bytes that an event delivers.
  private struct Chunk {
    var bytes: [UInt8] = []
    /// The bytes of streams' numbers, which differ on the replayed connection: their offsets, and their shifts.
    var streams: [(offset: Int, shift: Int, number: Int32)] = []
    /// The offsets of the numbers in GOAWAY.
    var lastStreams: [Int] = []
    /// The offsets of SETTINGS frames that acknowledge the client's settings.
    var acknowledgements: [Int] = []
  }

  /// A frame that is not complete.
  private struct Frame {
    /// The chunk in which its head ends.
    var chunk: Int
    /// The places of the bytes of its head.
    var places: [(chunk: Int, offset: Int)]
    let head: FramePiece.Head
    let isBlock: Bool
    var delivered = 0
    /// The chunks that get a byte of the next fields, because a part of a field was received with them.
    var hungry: [Int] = []
  }

  private static let mostBlockBytes = 16_384
  /// The beginning of a field with a long name, for a header block whose next field was not received whole.
  private static let unfinishedField: [UInt8] = [0x00, 0x7F, 0xFF, 0xFF, 0x02]
  private static let endHeaders: UInt8 = 4
  private static let acknowledges: UInt8 = 1
  private static let headBytes = 9
  /// A reference to a field that does not exist.
  private static let invalidField: UInt8 = 0x80

  private var chunks: [Int: Chunk] = [:]
  private var frame: Frame?
  /// The chunks that get a byte of the next frame's head, because a part of it was received with them.
  private var hungry: [Int] = []

  /// Creates the bytes of the frames of a connection.
  ///
  /// - Parameter events: the frames that were received, with the numbers of their events, in order.
  init(_ events: [(number: Int, frames: [TraceFrame])]) {
    for (number, frames) in events {
      chunks[number] = Chunk()
      for frame in frames { add(frame, to: number) }
    }
    finishFrame()
  }

  /// Returns the bytes of an event, with the numbers that streams have on the replayed connection, and without
  /// acknowledgements of settings that it did not send.
  func bytes(of event: Int, through gate: inout ReplayGate) -> [UInt8] {
    guard let chunk = chunks[event] else { return [] }
    var bytes = chunk.bytes
    for place in chunk.streams {
      bytes[place.offset] = UInt8(truncatingIfNeeded: UInt32(bitPattern: gate.stream(place.number)) >> place.shift)
    }
    for offset in chunk.lastStreams { Self.replace(at: offset, in: &bytes, gate.lastStream) }
    let excess = chunk.acknowledgements.filter { _ in !gate.acknowledgeSettings() }
    for offset in excess.reversed() where offset + Self.headBytes <= bytes.count {
      bytes.removeSubrange(offset..<offset + Self.headBytes)
    }
    return bytes
  }

  private static func replace(at offset: Int, in bytes: inout [UInt8], _ map: (Int32) -> Int32) {
    guard offset + 4 <= bytes.count else { return }
    let number = bytes[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
    let mapped = UInt32(bitPattern: map(Int32(bitPattern: number)))
    for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: mapped >> (24 - 8 * index)) }
  }

  // MARK: Frames

  private mutating func add(_ piece: TraceFrame, to chunk: Int) {
    var isNew = false
    if let type = piece.typeNumber {
      finishFrame()
      begin(
        .init(type: type, flags: piece.flags ?? 0, stream: piece.stream ?? 0, length: max(0, piece.length ?? 0)),
        in: chunk)
      isNew = true
    }
    guard let current = frame else {
      // A part of a frame's head; or the rest of a frame that began before the call, which has more than that.
      if piece.pieces == nil, piece.isEnd != true { hungry.append(chunk) }
      return
    }
    if current.isBlock { addBlock(piece, isNew: isNew, to: chunk) }
    let payload = piece.pieces?.flatMap(\.bytes) ?? []
    if isNew, current.head.type == HTTP2FrameType.goAway.rawValue, payload.count >= 4 {
      let offset = chunks[chunk]?.bytes.count ?? 0
      chunks[chunk]?.lastStreams.append(offset)
    }
    append(payload[...], to: chunk)
    if piece.isEnd == true { finishFrame(isComplete: true) }
  }

  private mutating func begin(_ head: FramePiece.Head, in chunk: Int) {
    let type = HTTP2FrameType(rawValue: head.type)
    let number = UInt32(bitPattern: head.stream)
    if type == .settings, head.flags & Self.acknowledges != 0, head.length == 0 {
      let offset = chunks[chunk]?.bytes.count ?? 0
      chunks[chunk]?.acknowledgements.append(offset)
    }
    let lengths = (0..<3).map { UInt8(truncatingIfNeeded: head.length >> (16 - 8 * $0)) }
    let streams = (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    var places: [(chunk: Int, offset: Int)] = []
    for (index, byte) in (lengths + [head.type, head.flags] + streams).enumerated() {
      let place = index < hungry.count ? hungry[index] : chunk
      let offset = chunks[place]?.bytes.count ?? 0
      places.append((place, offset))
      if index >= 5 { chunks[place]?.streams.append((offset, 24 - 8 * (index - 5), head.stream)) }
      chunks[place]?.bytes.append(byte)
    }
    hungry = []
    frame = Frame(chunk: chunk, places: places, head: head, isBlock: type == .headers || type == .continuation)
  }

  /// Ends the current frame.
  ///
  /// - Parameter isComplete: whether all of it was received. The length of a header block that was not is never reached.
  private mutating func finishFrame(isComplete: Bool = false) {
    guard let ended = frame else { return }
    if ended.isBlock {
      if !isComplete { feedHungry() }
      setLength((frame?.delivered ?? 0) + (isComplete ? 0 : 1), of: ended)
    } else if isComplete, ended.delivered < ended.head.length {
      append(Array(repeating: 0, count: ended.head.length - ended.delivered)[...], to: ended.chunk)
    }
    frame = nil
  }

  private mutating func setLength(_ length: Int, of frame: Frame) {
    for (index, place) in frame.places.prefix(3).enumerated() {
      chunks[place.chunk]?.bytes[place.offset] = UInt8(truncatingIfNeeded: length >> (16 - 8 * index))
    }
  }

  private mutating func append(_ bytes: ArraySlice<UInt8>, to chunk: Int) {
    chunks[chunk]?.bytes += bytes
    frame?.delivered += bytes.count
  }

  // MARK: Header blocks

  private mutating func addBlock(_ piece: TraceFrame, isNew: Bool, to chunk: Int) {
    var bytes = (piece.fields ?? []).flatMap(Self.literal)
    if piece.isInvalid == true { bytes.append(Self.invalidField) }
    if bytes.isEmpty {
      if !isNew, piece.isEnd != true { frame?.hungry.append(chunk) }
      return
    }
    var rest = bytes[...]
    let hungry = frame?.hungry ?? []
    frame?.hungry = []
    for chunk in hungry where rest.count > 1 {
      append(rest.prefix(1), to: chunk)
      rest = rest.dropFirst()
    }
    while let current = frame, current.delivered + rest.count > Self.mostBlockBytes {
      let part = rest.prefix(Self.mostBlockBytes - current.delivered)
      rest = rest.dropFirst(part.count)
      append(part, to: chunk)
      split(in: chunk)
    }
    append(rest, to: chunk)
  }

  /// Continues the current header block in another frame.
  private mutating func split(in chunk: Int) {
    guard let full = frame else { return }
    setLength(full.delivered, of: full)
    let flags = full.places[4]
    chunks[flags.chunk]?.bytes[flags.offset] &= ~Self.endHeaders
    let head = FramePiece.Head(
      type: HTTP2FrameType.continuation.rawValue, flags: full.head.flags & Self.endHeaders, stream: full.head.stream,
      length: 0)
    begin(head, in: chunk)
  }

  /// Gives the chunks that wait for a byte the beginning of a field that does not end.
  private mutating func feedHungry() {
    let hungry = frame?.hungry ?? []
    for (index, chunk) in hungry.enumerated() {
      let byte = index < Self.unfinishedField.count ? Self.unfinishedField[index] : UInt8(ascii: "*")
      append([byte], to: chunk)
    }
  }

  /// Returns a field as a literal without indexing (RFC 7541 §6.2.2), without Huffman codes.
  private static func literal(_ field: TraceField) -> [UInt8] {
    [0] + length(field.name.count) + field.name + length(field.value.count) + field.value
  }

  /// Returns an integer with a prefix of seven bits (RFC 7541 §5.1).
  private static func length(_ count: Int) -> [UInt8] {
    guard count >= 127 else { return [UInt8(count)] }
    var bytes: [UInt8] = [127]
    var rest = count - 127
    while rest >= 128 {
      bytes.append(UInt8(rest & 127) | 128)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}
