// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro
internal import LastroSupport
internal import LastroWire

/// The reader of parts and their bodies, for one task at a time.
final class PartReader: Sendable {
  private struct Position {
    var iterator: ResponseBody.AsyncIterator
    var machine: MultipartMachine
    /// The number of the part whose body comes next.
    var part = 0
    /// Whether the body of that part has not ended.
    var isInBody = false
  }

  private enum State {
    case open(Position)
    /// A task is reading.
    case taken
    case failed(TransportError)
    case ended
  }

  /// The maximum number of bytes after the last delimiter to read so that the connection can be reused.
  private static let maximumEpilogueBytes = 64 * 1024
  /// The maximum wait for these bytes: all parts are complete, and their reader waits only for this.
  private static let epiloguePatience = Duration.seconds(1)

  private let body: ResponseBody
  private let isByteRanges: Bool
  private let state: Lock<State>

  init(_ body: ResponseBody, _ machine: MultipartMachine, isByteRanges: Bool) {
    self.body = body
    self.isByteRanges = isByteRanges
    state = Lock(.open(Position(iterator: body.makeAsyncIterator(), machine: machine)))
    // Only the last delimiter shows that the body is complete.
    body.awaitVerdict()
  }

  func nextPart() async throws(TransportError) -> MultipartPart? {
    guard var position = try takePosition() else { return nil }
    return try await kept(&position) { (position) throws(TransportError) in
      while position.isInBody { _ = try await Self.chunk(&position) }
      guard case .head(let fields)? = try await Self.event(&position) else {
        await self.passEpilogue()
        return nil
      }
      position.part += 1
      position.isInBody = true
      let source = PartBody(self, part: position.part)
      let part = try MultipartPart(fields, body: ResponseBody(source: source))
      guard !self.isByteRanges || part.byteRange != nil else { throw .partWithoutRange(position.part) }
      return part
    }
  }

  /// Returns the next piece of a part's body; `nil` at its end.
  func nextChunk(of part: Int) async throws(TransportError) -> Data? {
    guard var position = try takePosition() else { throw .partPassedOver(part) }
    return try await kept(&position) { (position) throws(TransportError) in
      guard position.part == part, position.isInBody else { throw .partPassedOver(part) }
      return try await Self.chunk(&position)
    }
  }

  var finalFacts: TransferFacts? { body.finalFacts }

  /// Takes the position for exclusive use; returns `nil` at the end.
  private func takePosition() throws(TransportError) -> Position? {
    try state.withLock { (state) throws(TransportError) in
      switch state {
      case .open(let position):
        state = .taken
        return position
      case .taken: throw .twoReaders
      case .failed(let error): throw error
      case .ended: return nil
      }
    }
  }

  /// Reads with the position, and stores the new position.
  private func kept<Value>(
    _ position: inout Position, _ read: (inout Position) async throws(TransportError) -> Value
  ) async throws(TransportError) -> Value {
    do throws(TransportError) {
      let value = try await read(&position)
      let position = position
      state.withLock { $0 = position.machine.hasEnded ? .ended : .open(position) }
      return value
    } catch {
      // Reading an outdated body leaves the position valid.
      let isHarmless = error.stage == .request
      let position = position
      state.withLock { $0 = isHarmless ? .open(position) : .failed(error) }
      if !isHarmless { body.finish(failing: error) }
      throw error
    }
  }

  private static func chunk(_ position: inout Position) async throws(TransportError) -> Data? {
    switch try await event(&position) {
    case .body(let bytes): return Data(bytes)
    default:
      position.isInBody = false
      return nil
    }
  }

  private static func event(_ position: inout Position) async throws(TransportError) -> MultipartMachine.Event? {
    while true {
      do throws(MultipartViolation) {
        if let event = try position.machine.next() { return event }
      } catch {
        throw error.transportError
      }
      guard let chunk = try await position.iterator.next() else {
        do throws(MultipartViolation) {
          try position.machine.finish()
          return nil
        } catch {
          throw error.transportError
        }
      }
      chunk.withUnsafeBytes { position.machine.append($0) }
    }
  }

  /// Skips the bytes after the last delimiter. Errors in them do not concern the parts, and a server that keeps the
  /// response open must not delay the reader.
  private func passEpilogue() async {
    guard body.bytes == nil else { return }
    let isShort = await interruptible(within: Self.epiloguePatience, time: .continuous) { [body] in
      var iterator = body.makeAsyncIterator()
      var passed = 0
      while passed <= Self.maximumEpilogueBytes, let chunk = try? await iterator.next() { passed += chunk.count }
      return passed <= Self.maximumEpilogueBytes
    }
    if case .success(true) = isShort { body.conclude() } else { body.finish() }
  }
}

/// The body of a part. Releasing it does not end the transfer: its unread bytes are skipped.
private final class PartBody: ResponseBodySource {
  private let reader: PartReader
  private let part: Int
  /// Whether the end of the body was read; stays true when the next part is read.
  private let isRead = Lock(false)

  init(_ reader: PartReader, part: Int) {
    self.reader = reader
    self.part = part
  }

  var finalFacts: TransferFacts? { reader.finalFacts }

  func next() async throws(TransportError) -> Data? {
    if isRead.withLock({ $0 }) { return nil }
    let chunk = try await reader.nextChunk(of: part)
    if chunk == nil { isRead.withLock { $0 = true } }
    return chunk
  }

  func cancel() {}
}
