// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LastroSupport

/// The memory of one large body. It returns to its store when the last reference to the body is released.
final class BodyBlock {
  private let store: BodyBlockStore
  private(set) var memory: BodyBlockStore.Memory

  init(_ memory: BodyBlockStore.Memory, store: BodyBlockStore) {
    self.memory = memory
    self.store = store
  }

  deinit { store.giveBack(memory) }

  /// Resizes the memory; returns false if memory ran out. The kernel moves the pages of large blocks without copying
  /// them.
  func resize(to capacity: Int) -> Bool {
    guard let base = realloc(memory.base, capacity) else { return false }
    memory = .init(base: base, capacity: capacity)
    return true
  }

  /// Returns the first `count` bytes as `Data` that owns this memory. From here on, only a sole owner of that `Data`
  /// writes to the memory.
  consuming func data(count: Int) -> Data {
    let block = Unmanaged.passRetained(self)
    return Data(bytesNoCopy: memory.base, count: count, deallocator: .custom { _, _ in block.release() })
  }
}

/// The memory of large bodies that is not in use. `malloc` would return it to the kernel, and fetch it again page by
/// page.
///
/// Blocks are returned from any thread. The loop takes them, and closes the store when there is no reason to keep them.
final class BodyBlockStore: Sendable {
  struct Memory: @unchecked Sendable {
    // Sendable because no other code has an address of this memory.
    var base: UnsafeMutableRawPointer
    var capacity: Int
  }

  private struct State {
    var free: [Memory] = []
    var bytes = 0
    var isOpen = false
  }

  /// The maximum number of bytes that are kept.
  private let maximum: Int
  private let state = Lock(State())

  init(maximum: Int = 16 << 20) { self.maximum = maximum }

  deinit { close() }

  /// Whether blocks are kept.
  var isOpen: Bool { state.withLock { $0.isOpen } }

  /// The number of bytes of the blocks that are kept.
  var keptBytes: Int { state.withLock { $0.bytes } }

  /// Returns a block, which may be up to twice as large as requested; `nil` if memory ran out. From here on, returned
  /// blocks are kept.
  func take(_ capacity: Int) -> BodyBlock? {
    let kept: Memory? = state.withLock { state in
      state.isOpen = true
      guard let index = state.free.lastIndex(where: { (capacity...2 * capacity).contains($0.capacity) }) else {
        return nil
      }
      state.bytes -= state.free[index].capacity
      return state.free.remove(at: index)
    }
    if let kept { return BodyBlock(kept, store: self) }
    return malloc(capacity).map { BodyBlock(Memory(base: $0, capacity: capacity), store: self) }
  }

  fileprivate func giveBack(_ memory: Memory) {
    let isKept = state.withLock { state in
      guard state.isOpen, memory.capacity <= maximum - state.bytes else { return false }
      state.free.append(memory)
      state.bytes += memory.capacity
      return true
    }
    if !isKept { free(memory.base) }
  }

  /// Frees all blocks, and keeps none until a block is taken again.
  func close() {
    let all = state.withLock { state in
      defer { state = State() }
      return state.free
    }
    for memory in all { free(memory.base) }
  }
}

/// The time at which the unused memory of large bodies is freed: one second after the last transfer.
struct BodyBlockExpiry {
  private static let nanoseconds: Int64 = 1_000_000_000

  /// The time in monotonic nanoseconds; `.max` while nothing is to be freed.
  private(set) var due = Int64.max

  mutating func look(at store: BodyBlockStore, isBusy: Bool, now: Int64) {
    if isBusy {
      due = .max
    } else if now >= due {
      due = .max
      store.close()
    } else if due == .max, store.isOpen {
      due = now.adding(nanoseconds: Self.nanoseconds)
    }
  }
}
