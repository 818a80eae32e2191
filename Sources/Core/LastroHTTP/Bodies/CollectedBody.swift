// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Lastro

/// A body that is collected in memory. A large one has a block of its own, which is reused (``BodyBlockStore``).
struct CollectedBody {
  private let store: BodyBlockStore
  private var small = Data()
  private var block: BodyBlock?

  var count: Int { block?.count ?? small.count }
  var isEmpty: Bool { count == 0 }

  init(store: BodyBlockStore) { self.store = store }

  /// Reserves memory for the given number of bytes; returns false if memory ran out.
  mutating func reserve(_ capacity: Int) -> Bool {
    guard capacity >= BodyBlock.reusedBytes, block == nil else {
      if block == nil { small.reserveCapacity(capacity) }
      return true
    }
    guard let block = store.take(capacity) else { return false }
    small.withUnsafeBytes { _ = block.append($0) }
    small = Data()
    self.block = block
    return true
  }

  /// Appends bytes; returns false if memory ran out.
  mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let total = count + bytes.count
    if block == nil, total < BodyBlock.reusedBytes {
      small.append(contentsOf: bytes)
      return true
    }
    if block == nil, !reserve(max(total, 2 * count)) { return false }
    guard let block, total <= block.capacity || block.resize(to: max(total, 2 * block.capacity)) else { return false }
    return block.append(bytes)
  }

  /// Returns the whole body. It must be called only once, because the owner of the result may change it in place.
  mutating func take() -> Data {
    guard let block = block.take() else { return small }
    // A caller that keeps the body keeps no more than twice its size.
    if block.count <= block.capacity / 2 { _ = block.resize(to: max(block.count, 1)) }
    return block.data()
  }
}

extension TransportError {
  static let noMemoryForBody = TransportError(
    stage: .response, code: .engineFailure, message: "out of memory for the body",
    hint: "stream the body, or lower maximumBodyBytes", requestSent: true)
}
