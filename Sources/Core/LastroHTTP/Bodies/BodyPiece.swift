// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import LastroSupport

/// Bytes of a body on their way to its reader.
///
/// Their memory returns to the store of the body stream when the reader is done with them. For a fast body, `malloc`
/// would otherwise return it to the kernel, and fetch it again page by page.
final class BodyPiece {
  /// The maximum number of bytes that a slow reader gets at once.
  static let maximumBytes = 64 * 1024

  private let base: UnsafeMutableRawPointer
  private let capacity: Int
  private let store: BodyPieceStore
  private(set) var count = 0

  init(capacity: Int, store: BodyPieceStore) {
    base = capacity == Self.maximumBytes ? store.take() : .allocate(byteCount: capacity, alignment: 16)
    self.capacity = capacity
    self.store = store
  }

  deinit {
    if capacity == Self.maximumBytes { store.giveBack(base) } else { base.deallocate() }
  }

  /// The whole memory, to be filled before the piece has bytes.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: base, count: capacity) }

  /// Sets the number of bytes that were written to `space`.
  func fill(_ count: Int) { self.count = count }

  /// Appends bytes; returns false if there is no room for all of them.
  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= capacity - count, let start = bytes.baseAddress else { return bytes.isEmpty }
    (base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
    return true
  }

  /// Returns the bytes as `Data` that owns this memory. Nothing is appended from here on.
  consuming func data() -> Data {
    let piece = Unmanaged.passRetained(self)
    return Data(bytesNoCopy: base, count: count, deallocator: .custom { _, _ in piece.release() })
  }
}

/// The unused memory of the pieces of a body stream.
final class BodyPieceStore: Sendable {
  private struct Free: @unchecked Sendable {
    // Sendable because no other code has an address of this memory.
    var bases: [UnsafeMutableRawPointer] = []
  }

  private let maximum: Int
  private let free = Lock(Free())

  /// - Parameter bytes: the number of bytes by which a reader may lag behind. Over HTTP/2, a stream window comes on top
  ///   of it.
  init(bytes: Int) { maximum = 4 * bytes / BodyPiece.maximumBytes }

  deinit { free.withLock { for base in $0.bases { base.deallocate() } } }

  func take() -> UnsafeMutableRawPointer {
    free.withLock { $0.bases.popLast() } ?? .allocate(byteCount: BodyPiece.maximumBytes, alignment: 16)
  }

  func giveBack(_ base: UnsafeMutableRawPointer) {
    let isKept = free.withLock { free in
      guard free.bases.count < maximum else { return false }
      free.bases.append(base)
      return true
    }
    if !isKept { base.deallocate() }
  }
}
