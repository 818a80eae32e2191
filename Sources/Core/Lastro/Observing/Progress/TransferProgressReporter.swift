// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Reports the progress of one call in both directions.
///
/// ```swift
/// let progress = TransferProgressReporter()
/// resource.options.progress = progress
/// async let response = stack.fetch(resource)
/// for await update in progress.updates { bar.show(update.bytesReceived, of: update.totalBytesToReceive) }
/// ```
///
/// The counts are those of the current request on the network: a redirect or a retry starts again from zero.
/// ``updates`` ends when the call ends or, for a stream, when its body ends. A reporter serves one call and reports
/// nothing afterwards.
///
/// No code of an observer runs on the engine's thread. A slow reader misses updates instead of delaying the transfer.
public final class TransferProgressReporter: Sendable {
  /// The progress updates. Each read returns the newest one; any number of updates between two reads may be skipped.
  /// The last update is always delivered before the end. Supports one reader.
  public let updates: AsyncStream<TransferProgress>

  private struct State {
    var progress = TransferProgress()
    /// The number of requests sent so far. Reports about an earlier, abandoned request are ignored.
    var generation: UInt64 = 0
    var isFinished = false
  }

  private let wake: AsyncStream<Void>.Continuation
  private let state: Lock<State>

  /// Creates a reporter for one call.
  public init() {
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let state = Lock(State())
    self.wake = wake
    self.state = state
    // The reader always gets the newest progress, regardless of which thread woke it.
    updates = AsyncStream {
      for await _ in wakes { return state.withLock { $0.progress } }
      return nil
    }
  }

  /// The latest progress. Any thread may read it at any time.
  public var current: TransferProgress { state.withLock { $0.progress } }

  /// Resets the counts for a new request on the network. The pipeline calls this; code that uses a ``Transport``
  /// without the pipeline must call it itself.
  ///
  /// - Parameter totalBytesToSend: the length of the request's body, if it is known.
  package func beginTransfer(totalBytesToSend: Int64?) -> Transfer {
    let generation = state.withLock { state in
      state.generation &+= 1
      if !state.isFinished { state.progress = TransferProgress(totalBytesToSend: totalBytesToSend) }
      return state.generation
    }
    wake.yield()
    return Transfer(reporter: self, generation: generation)
  }

  /// Ends ``updates``. Later reports are ignored.
  package func finish() {
    state.withLock { $0.isFinished = true }
    wake.finish()
  }

  private func change(_ generation: UInt64, _ body: (inout TransferProgress) -> Void) {
    let isNews = state.withLock { state in
      guard state.generation == generation, !state.isFinished else { return false }
      let before = state.progress
      body(&state.progress)
      return state.progress != before
    }
    if isNews { wake.yield() }
  }

  /// A single request on the network, for the reports of a ``Transport``. Its reports are ignored once another request
  /// has started.
  ///
  /// Any thread may report. A report takes a lock for some nanoseconds and resumes a waiting reader on another thread.
  /// Reporting every few kilobytes is still too often.
  package struct Transfer: Sendable {
    fileprivate let reporter: TransferProgressReporter
    fileprivate let generation: UInt64

    /// Reports the number of bytes of the request's body sent so far. It may decrease if the body is sent again.
    package func report(sent: Int64) { reporter.change(generation) { $0.bytesSent = sent } }

    /// Reports the number of bytes of the response's body received so far, and its `Content-Length`.
    package func report(received: Int64, of total: Int64?) {
      reporter.change(generation) { progress in
        progress.bytesReceived = received
        progress.totalBytesToReceive = total
      }
    }
  }
}
