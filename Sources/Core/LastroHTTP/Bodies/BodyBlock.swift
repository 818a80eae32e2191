// SPDX-License-Identifier: Apache-2.0

internal import FoundationEssentials
internal import Glibc
internal import LastroSupport

/// Memory with bytes of a body: a whole collected body, or a piece of a streamed one on its way to the reader. It
/// returns to its store when the last reference to the bytes is released.
final class BodyBlock {
  /// The size from which on a block is reused: fetching new pages from the kernel would cost more than everything else
  /// about the body.
  static let reusedBytes = 64 * 1024

  private let store: BodyBlockStore
  private var memory: BodyBlockStore.Memory
  private(set) var count = 0

  init(_ memory: BodyBlockStore.Memory, store: BodyBlockStore) {
    self.memory = memory
    self.store = store
  }

  deinit { store.giveBack(memory) }

  var capacity: Int { memory.capacity }

  /// The whole memory, to be filled before the block has bytes.
  var space: UnsafeMutableRawBufferPointer { UnsafeMutableRawBufferPointer(start: memory.base, count: capacity) }

  /// Sets the number of bytes that were written to ``space``.
  func fill(_ count: Int) { self.count = count }

  /// Appends bytes; returns false if there is no room for all of them.
  func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
    guard bytes.count <= capacity - count, let start = bytes.baseAddress else { return bytes.isEmpty }
    (memory.base + count).copyMemory(from: start, byteCount: bytes.count)
    count += bytes.count
    return true
  }

  /// Resizes the memory; returns false if memory ran out. The kernel moves the pages of large blocks without copying
  /// them.
  func resize(to capacity: Int) -> Bool {
    guard let base = realloc(memory.base, capacity) else { return false }
    memory = .init(base: base, capacity: capacity)
    return true
  }

  /// Returns the bytes as `Data` that owns this memory. From here on, only a sole owner of that `Data` writes to the
  /// memory.
  consuming func data() -> Data {
    let block = Unmanaged.passRetained(self)
    return Data(bytesNoCopy: memory.base, count: count, deallocator: .custom { _, _ in block.release() })
  }
}

/// The memory of large or fast bodies that is not in use. `malloc` would return it to the kernel, and fetch it again
/// page by page.
///
/// Blocks are returned from any thread. The collected bodies of a loop share one store, which the loop closes when
/// there is no reason to keep them. Each streamed body has a store of its own.
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

  /// Returns a block without bytes, which may be up to twice as large as requested; `nil` if memory ran out. From here
  /// on, returned blocks are kept, except small ones.
  func take(_ capacity: Int) -> BodyBlock? {
    if capacity >= BodyBlock.reusedBytes, let kept = takeKept(capacity) { return BodyBlock(kept, store: self) }
    return malloc(capacity).map { BodyBlock(Memory(base: $0, capacity: capacity), store: self) }
  }

  private func takeKept(_ capacity: Int) -> Memory? {
    state.withLock { state in
      state.isOpen = true
      guard let index = state.free.lastIndex(where: { (capacity...2 * capacity).contains($0.capacity) }) else {
        return nil
      }
      state.bytes -= state.free[index].capacity
      return state.free.remove(at: index)
    }
  }

  fileprivate func giveBack(_ memory: Memory) {
    guard memory.capacity >= BodyBlock.reusedBytes else { return free(memory.base) }
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
