// SPDX-License-Identifier: Apache-2.0

public import Lastro
internal import LastroSupport

/// Combines requests: keys requested within a short time are loaded together.
///
/// ```swift
/// let users = Batcher<Int, User> { ids in
///   let found = try await stack.fetch(.users(ids)).value
///   return Dictionary(found.map { ($0.id, $0) }) { first, _ in first }
/// }
/// let author = try await users.value(for: 7)
/// ```
///
/// A key requested more than once in a batch is loaded once. A failure of the load is thrown to every caller; a key
/// without a value fails only for the callers that requested it. Cancelling one caller does not affect the others; when
/// the last one is cancelled, the load is cancelled, or not begun. Values are not cached.
public final class Batcher<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  /// A function that loads the values of keys, which contain no duplicates.
  public typealias Load = @Sendable (_ keys: [Key]) async throws -> [Key: Value]

  private let window: Duration
  private let maximum: Int
  private let timeSource: TimeSource
  private let load: Load
  /// The batch that accepts keys.
  private let open = Lock<Batch<Key, Value>?>(nil)

  /// Creates a batcher.
  ///
  /// - Parameters:
  ///   - window: the time for which the first key of a batch waits for others. Default 2 ms. Zero or less: no wait.
  ///   - maximum: the maximum number of keys in a batch; a full batch is loaded immediately. Default 100; at least 1.
  ///   - timeSource: the clock for the window. Default: the system's.
  ///   - load: the function that loads keys. It runs in a task of its own, for several batches at a time.
  public init(
    window: Duration = .milliseconds(2), maximum: Int = 100, timeSource: TimeSource = .continuous,
    load: @escaping Load
  ) {
    self.window = window
    self.maximum = max(1, maximum)
    self.timeSource = timeSource
    self.load = load
  }

  /// Returns the value of a key.
  ///
  /// - Throws: the errors of the load; ``BatchKeyMissing`` if the load has no value for the key; `CancellationError` if
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

  /// The number of callers that wait for the batch that accepts keys.
  var waiting: Int { open.withLock { $0?.waiting ?? 0 } }

  private func join(_ key: Key, _ answer: OneAnswer<Result<Value, any Error>>) -> Batch<Key, Value> {
    let (batch, isNew, isFull) = open.withLock { open in
      // A batch that every caller has left accepts no keys.
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
      // Detached: the wait must outlive any single caller.
      batch.keep(
        window: Task.detached {
          do { try await time.sleep(window) } catch { return }
          self.close(batch)
        })
    }
    return batch
  }

  /// Stops adding keys to a batch.
  private func drop(_ batch: Batch<Key, Value>) { open.withLock { if $0 === batch { $0 = nil } } }

  /// Stops adding keys to a batch, and loads its keys.
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

/// The error for a key for which the load returned no value.
public struct BatchKeyMissing: Error, CustomStringConvertible {
  /// A description that names the key's type, but not the key, which may be secret.
  public let description: String
}
