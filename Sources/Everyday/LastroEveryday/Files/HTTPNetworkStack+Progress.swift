// SPDX-License-Identifier: Apache-2.0

import Lastro

extension HTTPNetworkStack {
  /// Runs a transfer, and calls a closure with its progress.
  ///
  /// - Parameters:
  ///   - reporter: the reporter of the options.
  ///   - progress: the closure. Without one, the transfer uses the reporter of the options.
  ///   - transfer: runs the transfer with a reporter, and finishes the reporter.
  func reporting<Value: Sendable, APIError>(
    _ reporter: TransferProgressReporter?, _ progress: (@Sendable (TransferProgress) -> Void)?,
    _ transfer: (TransferProgressReporter?) async throws(HTTPFetchError<APIError>) -> Value
  ) async throws(HTTPFetchError<APIError>) -> Value {
    guard let progress else { return try await transfer(reporter) }
    if let reporter {
      reporter.finish()
      throw HTTPFetchError(
        .noRequest(
          TransportError.refused(
            .invalidOption, "both a closure and the options request progress",
            hint: "leave out the closure or the reporter in the options")))
    }
    let own = TransferProgressReporter()
    async let calls: Void = { for await update in own.updates { progress(update) } }()
    do throws(HTTPFetchError<APIError>) {
      let value = try await transfer(own)
      await calls
      return value
    } catch {
      await calls
      throw error
    }
  }
}
