// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Makes one request of many: what is asked for within a short time is loaded together.
///
/// ```swift
/// let users = Batcher<Int, User> { ids in
///   let found = try await stack.fetch(.users(ids)).value
///   return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
/// }
/// let author = try await users.value(for: 7)
/// ```
///
/// Keys that are asked for more than once in a batch are loaded once. A failure of the load is that of all who wait
/// for it; a key that it has no value for fails those alone that asked for it. Cancelling one who waits leaves the
/// others; when none is left, the load is cancelled, or not begun. Nothing is kept: it is no cache.
public final class Batcher<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// Loads the values of keys, of which none comes twice.
  public typealias Load = @Sendable (_ keys: [Key]) async throws -> [Key: Value]

  private let window: Duration
  private let maximum: Int
  private let timeSource: TimeSource
  private let load: Load
  /// The batch that takes keys.
  private let open = Lock<Batch<Key, Value>?>(nil)

  /// Makes a batcher.
  ///
  /// - Parameters:
  ///   - window: how long the first key of a batch waits for others. Default 2 ms. Zero, or less, waits for none.
  ///   - maximum: most keys of a batch, which is loaded at once when it is full. Default 100; less than 1 counts as 1.
  ///   - timeSource: measures the window. Default: the system's clock.
  ///   - load: runs in a task of its own, for several batches at a time.
  public init(
    window: Duration = .milliseconds(2), maximum: Int = 100, timeSource: TimeSource = .continuous,
    load: @escaping Load
  ) {
    self.window = window
    self.maximum = max(1, maximum)
    self.timeSource = timeSource
    self.load = load
  }

  /// The value of a key.
  ///
  /// - Throws: what the load throws; ``BatchKeyMissing`` where it has no value for the key; `CancellationError` when
  ///   the task is cancelled.
  public func value(for key: Key) async throws -> Value {
    try Task.checkCancellation()
    let answer = OneAnswer<Result<Value, any Error>>()
    let batch = join(key, answer)
    let result = await withTaskCancellationHandler {
      await answer.value()
    } onCancel: {
      if answer.offer(.failure(CancellationError())), batch.leave() { drop(batch) }
    }
    return try result.get()
  }

  /// Those who wait for a batch that takes keys.
  var waiting: Int { open.withLock { $0?.waiting ?? 0 } }

  private func join(_ key: Key, _ answer: OneAnswer<Result<Value, any Error>>) -> Batch<Key, Value> {
    let (batch, isNew, isFull) = open.withLock { open in
      // One that all have left takes none.
      let joined = open.flatMap { batch in batch.add(key, answer).map { (batch, $0) } }
      let batch = joined?.0 ?? Batch(key, answer)
      let isFull = (joined?.1 ?? 1) >= maximum
      open = isFull ? nil : batch
      return (batch, joined == nil, isFull)
    }
    if isFull || window <= .zero {
      close(batch)
    } else if isNew {
      let (time, window) = (timeSource, window)
      // It belongs to none of those who ask.
      batch.keep(
        window: Task.detached {
          do { try await time.sleep(window) } catch { return }
          self.close(batch)
        })
    }
    return batch
  }

  /// Takes no more keys for a batch.
  private func drop(_ batch: Batch<Key, Value>) { open.withLock { if $0 === batch { $0 = nil } } }

  /// Takes no more keys, and loads those it has.
  private func close(_ batch: Batch<Key, Value>) {
    drop(batch)
    guard let keys = batch.begin() else { return }
    let load = load
    batch.keep(
      load: Task.detached {
        do {
          batch.end(with: .success(try await load(keys)))
        } catch {
          batch.end(with: .failure(error))
        }
      })
  }
}

/// A load has no value for a key.
public struct BatchKeyMissing: Error, CustomStringConvertible {
  /// Names the key's type, not the key, which may be secret.
  public let description: String
}
