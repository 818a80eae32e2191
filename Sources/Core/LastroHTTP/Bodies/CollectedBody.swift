// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// A body that is collected in memory. A large one has a block of its own, which is reused (``BodyBlockStore``).
struct CollectedBody {
  /// The size from which on a body uses a block: fetching new pages from the kernel would cost more than everything
  /// else about the body.
  static let blockBytes = 64 * 1024

  private let store: BodyBlockStore
  private var small = Data()
  private var block: BodyBlock?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  init(store: BodyBlockStore) { self.store = store }

  /// Reserves memory for the given number of bytes; returns false if memory ran out.
  mutating func reserve(_ capacity: Int) -> Bool {
    guard capacity >= Self.blockBytes, block == nil else {
      if block == nil { small.reserveCapacity(capacity) }
      return true
    }
    guard let block = store.take(capacity) else { return false }
    small.withUnsafeBytes { block.memory.base.copy($0) }
    small = Data()
    self.block = block
    return true
  }

  /// Appends bytes; returns false if memory ran out.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let total = count + bytes.count
    if block == nil, total < Self.blockBytes {
      small.append(contentsOf: bytes)
    } else {
      guard makeRoom(total), let block else { return false }
      (block.memory.base + count).copy(bytes)
    }
    count = total
    return true
  }

  private mutating func makeRoom(_ total: Int) -> Bool {
    guard let block else { return reserve(max(total, 2 * count)) }
    return total <= block.memory.capacity || block.resize(to: max(total, 2 * block.memory.capacity))
  }

  /// Returns the whole body. It must be called only once, because the owner of the result may change it in place.
  mutating func take() -> Data {
    guard let block = block.take() else { return small }
    // A caller that keeps the body keeps no more than twice its size.
    if count <= block.memory.capacity / 2 { _ = block.resize(to: max(count, 1)) }
    return block.data(count: count)
  }
}

extension UnsafeMutableRawPointer {
  fileprivate func copy(_ bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress { copyMemory(from: base, byteCount: bytes.count) }
  }
}

extension TransportError {
  static let noMemoryForBody = TransportError(
    stage: .response, code: .engineFailure, message: "out of memory for the body",
    hint: "stream the body, or lower maximumBodyBytes", requestSent: true)
}
