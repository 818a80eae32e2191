// SPDX-License-Identifier: Apache-2.0

internal import Lastro
internal import LastroHTTP
internal import LastroSupport

extension ConnectionCore {
  /// The interval between checks whether a connection is outdated.
  private static let outdatingInterval = Duration.seconds(5)

  /// Waits until the trust rules or the client certificate of the connection have changed, or it has ended.
  ///
  /// - Returns: true if the connection is outdated; false once it has ended.
  /// - Throws: `ECANCELED` in a cancelled task.
  func waitUntilOutdated() async throws(ConnectionError) -> Bool {
    while true {
      if record.read(\.hasEnded) { return false }
      // Read outside the lock, because the check may block for a second.
      if let origin = record.read(\.origin), !origin.isCurrent { return true }
      let outcome = await interruptible(within: Self.outdatingInterval, time: parameters.time) { [record] in
        await record.wait { $0.hasEnded }
      }
      switch outcome {
      case .success(true): return false
      case .failure(.limit): continue
      case .success(false), .failure(.cancelled): throw .posix(.ECANCELED)
      }
    }
  }
}
