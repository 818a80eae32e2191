// SPDX-License-Identifier: Apache-2.0

internal import Glibc
package import LastroWire
internal import Synchronization

/// The memory that the decoders of all bodies of an engine may hold together.
package final class DecodingMemory: Sendable {
  /// The maximum number of bytes.
  package let limit: Int
  private let used = Atomic(0)

  package init(limit: Int) { self.limit = limit }

  /// The number of bytes that are held.
  package var usedBytes: Int { used.load(ordering: .relaxed) }

  fileprivate func take(_ count: Int) -> Bool {
    if used.wrappingAdd(count, ordering: .relaxed).newValue <= limit { return true }
    giveBack(count)
    return false
  }

  fileprivate func giveBack(_ count: Int) { used.wrappingSubtract(count, ordering: .relaxed) }
}

/// The memory of one decoder, which its library allocates here. It is used by one thread at a time.
package final class DecodingAccount {
  private let memory: DecodingMemory
  /// The number of bytes that are held.
  package private(set) var heldBytes = 0
  /// Whether the limit of all bodies was the reason why memory was refused.
  private var isOverLimit = false

  package init(_ memory: DecodingMemory) { self.memory = memory }

  // The functions that a library gets, with the account as its context. The account outlives the library's object.

  package static let allocate: @convention(c) @Sendable (UnsafeMutableRawPointer?, Int) -> UnsafeMutableRawPointer? = {
    account, count in
    account.flatMap { Unmanaged<DecodingAccount>.fromOpaque($0).takeUnretainedValue().allocate(count) }
  }

  package static let release: @convention(c) @Sendable (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Void = {
    account, block in
    guard let account, let block else { return }
    Unmanaged<DecodingAccount>.fromOpaque(account).takeUnretainedValue().release(block)
  }

  /// The context for the functions.
  package var context: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }

  /// The reason why memory was refused.
  package var violation: CodingViolation {
    guard isOverLimit else { return .noCodingMemory }
    return CodingViolation(
      .windows,
      "the windows of the compressed bodies that are received at once need more than "
        + "\(memory.limit) bytes")
  }

  // The size of a block is in front of it. The rest stays aligned for any type.
  private static let prefix = 16

  private func allocate(_ count: Int) -> UnsafeMutableRawPointer? {
    let (size, isTooLarge) = count.addingReportingOverflow(Self.prefix)
    guard !isTooLarge, memory.take(size) else {
      isOverLimit = true
      return nil
    }
    guard let block = malloc(size) else {
      memory.giveBack(size)
      return nil
    }
    block.storeBytes(of: size, as: Int.self)
    heldBytes += size
    return block + Self.prefix
  }

  private func release(_ address: UnsafeMutableRawPointer) {
    let block = address - Self.prefix
    let size = block.load(as: Int.self)
    heldBytes -= size
    memory.giveBack(size)
    free(block)
  }
}
