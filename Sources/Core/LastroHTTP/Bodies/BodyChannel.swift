// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Lastro
internal import LastroSupport

/// A bounded queue of body bytes from the loop's thread to one asynchronous reader.
///
/// The loop stops receiving when `capacity` bytes are unread, and resumes when the reader has taken half of them. The
/// memory of a body stream is therefore bounded however slow the reader is, and a fast reader does not stop and start
/// the loop for every piece.
package final class BodyChannel: Sendable {
  package typealias Chunk = Result<Data?, TransportError>

  private struct State {
    /// The unread bytes, in order. No piece is empty. A single buffer would be moved whenever it grows.
    var pieces: [BodyBlock] = []
    var count = 0
    /// The number of bytes received so far.
    var total: Int64 = 0
    /// The memory that the loop receives into next.
    var spare: BodyBlock?
    var isPaused = false
    /// Whether the loop knows that bytes are available for the waiting reader.
    var isAnnounced = false
    var end: Result<Void, TransportError>?
    var facts: TransferFacts?
    var reader: CheckedContinuation<Chunk, Never>?

    mutating func append(_ bytes: UnsafeRawBufferPointer, _ store: BodyBlockStore) {
      count += bytes.count
      total += Int64(bytes.count)
      // Use the spare piece only for many bytes: for a few, it would keep much memory allocated.
      if bytes.count >= BodyChannel.pieceBytes / 4, let spare,
        spare.space.baseAddress == bytes.baseAddress.map({ UnsafeMutableRawPointer(mutating: $0) })
      {
        self.spare = nil
        spare.fill(bytes.count)
        return pieces.append(spare)
      }
      if let last = pieces.last, last.append(bytes) { return }
      // A piece for a slow body has a little more room than was received; a piece for a fast body has its full size.
      // Each has twice the size of the one before it, so that a body in tiny chunks does not become as many pieces.
      let room = min(BodyChannel.pieceBytes, max(4 * bytes.count, 2 * (pieces.last?.count ?? 0)))
      guard let piece = store.take(max(bytes.count, room)) else {
        count -= bytes.count
        return end = .failure(.noMemoryForBody)
      }
      _ = piece.append(bytes)
      pieces.append(piece)
    }

    mutating func takePiece() -> BodyBlock? {
      if pieces.isEmpty { return nil }
      let piece = pieces.removeFirst()
      count -= piece.count
      return piece
    }

    /// Returns whether the loop, which waits for room, must be resumed.
    mutating func mustResume(_ capacity: Int) -> Bool {
      guard isPaused, count <= capacity / 2 else { return false }
      isPaused = false
      return true
    }

    mutating func removeAll() {
      pieces = []
      count = 0
    }
  }

  /// The maximum number of bytes that a slow reader gets at once.
  static let pieceBytes = BodyBlock.reusedBytes
  /// The number of bytes after which a large and fast body is handed over.
  private static let bulkBytes = 256 * 1024
  private let capacity: Int
  private let store: BodyBlockStore
  private let state = Lock(State())

  package init(capacity: Int) {
    self.capacity = capacity
    // A reader may lag behind by the capacity. Over HTTP/2, a stream window comes on top of it.
    store = BodyBlockStore(maximum: 4 * capacity)
  }

  package var finalFacts: TransferFacts? { state.withLock { $0.facts } }
  package var isFinished: Bool { state.withLock { $0.end != nil } }
  /// The number of unread bytes.
  var count: Int { state.withLock { $0.count } }
  /// Whether the loop has stopped receiving because of a slow reader.
  var isPaused: Bool { state.withLock { $0.isPaused } }

  /// The outcome of offering bytes.
  package enum Offer {
    case taken
    /// The bytes are for a waiting reader: ``handOver(resume:)`` must follow before the loop sleeps.
    case takenForReader
    /// The bytes were taken without room for them, because the sender's flow control bounds them. A resume follows when
    /// there is room.
    case takenBeyond
    /// The channel is full. The same bytes must be offered again after a resume.
    case full
  }

  /// Offers bytes for the reader. For the loop.
  ///
  /// - Parameter isBounded: whether flow control limits how many bytes the server may send, so that they are taken even
  ///   without room.
  package func offer(_ bytes: UnsafeRawBufferPointer, isBounded: Bool = false) -> Offer {
    state.withLock { state in
      if state.end != nil { return .taken }  // cancelled: swallow, the loop is about to hear of it
      let hasRoom = state.count < capacity
      guard hasRoom || isBounded else {
        state.isPaused = true
        return .full
      }
      state.append(bytes, store)
      guard hasRoom else {
        state.isPaused = true
        return .takenBeyond
      }
      guard state.reader != nil, !state.isAnnounced else { return .taken }
      state.isAnnounced = true
      return .takenForReader
    }
  }

  /// Returns whether bytes would be taken. If not, a resume follows when there is room. For the loop.
  package func hasRoom() -> Bool {
    state.withLock { state in
      if state.end != nil || state.count < capacity { return true }
      state.isPaused = true
      return false
    }
  }

  /// Returns memory to receive bytes into before they are offered, so that they need not be copied; `nil` if there is
  /// no room. For the loop.
  package func space() -> UnsafeMutableRawBufferPointer? {
    state.withLock { state in
      guard state.end == nil, state.count < capacity, let spare = state.spare ?? store.take(Self.pieceBytes) else {
        return nil
      }
      state.spare = spare
      return spare.space
    }
  }

  /// Whether more bytes of a large body are likely to arrive at once, so that its reader may wait for them a moment.
  /// For the loop.
  package var isGathering: Bool {
    let enough = min(Self.bulkBytes, capacity / 2)
    return state.withLock {
      !$0.isPaused && $0.total >= 1 << 20 && $0.count >= Self.pieceBytes / 2 && $0.count < enough
    }
  }

  /// Passes received bytes to the waiting reader. For the loop. `resume` is called if the loop waits for room, and
  /// there is enough again.
  package func wakeReader(resume: () -> Void) {
    let delivery: (CheckedContinuation<Chunk, Never>, BodyBlock?, Bool)? = state.withLock { state in
      state.isAnnounced = false
      guard let reader = state.reader else { return nil }
      let piece = state.takePiece()
      // Memory may have run out for the bytes that were offered.
      guard piece != nil || state.end != nil else { return nil }
      state.reader = nil
      return (reader, piece, state.mustResume(capacity))
    }
    guard let (reader, piece, mustResume) = delivery else { return }
    if mustResume { resume() }
    reader.resume(returning: piece.map { .success($0.data()) } ?? .failure(.noMemoryForBody))
  }

  /// Returns the next bytes, waiting for them if necessary. For the reader. `resume` is called if the loop waits for
  /// room, and there is enough again.
  package func take(resume: @Sendable () -> Void) async -> Chunk {
    if let chunk = takeNow(resume, nil) { return chunk }
    return await withCheckedContinuation { continuation in
      if let chunk = takeNow(resume, continuation) { continuation.resume(returning: chunk) }
    }
  }

  /// Returns the next bytes or the end; `nil` if there is neither, and `reader` is to wait.
  private func takeNow(_ resume: () -> Void, _ reader: CheckedContinuation<Chunk, Never>?) -> Chunk? {
    let (piece, end, mustResume): (BodyBlock?, Chunk?, Bool) = state.withLock { state in
      if let piece = state.takePiece() { return (piece, nil, state.mustResume(capacity)) }
      if let end = state.end { return (nil, end.map { nil }, false) }
      if state.reader != nil { return (nil, .failure(.twoReaders), false) }
      state.reader = reader
      return (nil, nil, false)
    }
    if mustResume { resume() }
    if let piece { return .success(piece.data()) }
    return end
  }

  /// Ends the body stream. Only the first call counts; later calls can only add the facts.
  package func finish(_ end: Result<Void, TransportError>, facts: TransferFacts? = nil) {
    let waiting: (CheckedContinuation<Chunk, Never>, BodyBlock?)? = state.withLock { state in
      if state.facts == nil { state.facts = facts }
      guard state.end == nil else { return nil }
      state.end = end
      if Self.drops(end) { state.removeAll() }
      guard let reader = state.reader else { return nil }
      state.reader = nil
      return (reader, state.takePiece())
    }
    guard let (reader, piece) = waiting else { return }
    reader.resume(returning: piece.map { .success($0.data()) } ?? end.map { nil })
  }

  /// Returns whether unread bytes are dropped, because the reader has left or its time is over. The bytes of a body
  /// that was cut off, or that stalled until a limit of silence, are still delivered: in an event stream, each event
  /// counts.
  private static func drops(_ end: Result<Void, TransportError>) -> Bool {
    guard case .failure(let error) = end else { return false }
    return error.stage != .response && ![.idleTimeout, .firstEventTimeout].contains(error.code)
  }
}
