// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
internal import LastroSupport

/// A write that collects a body in memory, and passes it on when it is complete.
package final class CollectedWriting: CacheWriting {
  private let maximumBytes: Int
  private let add: @Sendable (Data) async -> Bool
  /// The body so far; `nil` once it is abandoned or committed.
  private let body = Lock<Data?>(Data())

  /// Begins a write.
  ///
  /// - Parameters:
  ///   - maximumBytes: the size above which the body is abandoned.
  ///   - add: stores the complete body, and returns whether it did.
  package init(maximumBytes: Int, add: @escaping @Sendable (_ body: Data) async -> Bool) {
    self.maximumBytes = maximumBytes
    self.add = add
  }

  package func write(_ piece: Data) async -> Bool {
    body.withLock { body in
      guard let count = body?.count, count + piece.count <= maximumBytes else {
        body = nil
        return false
      }
      body?.append(piece)
      return true
    }
  }

  package func commit() async -> Bool {
    guard let bytes = body.withLock({ $0.take() }) else { return false }
    return await add(bytes)
  }

  package func abandon() { body.withLock { $0 = nil } }
}
