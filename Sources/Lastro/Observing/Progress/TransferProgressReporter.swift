// SPDX-License-Identifier: Apache-2.0

internal import LastroSupport

/// Tells how far one call has come, in both directions.
///
/// ```swift
/// let progress = TransferProgressReporter()
/// resource.options.progress = progress
/// async let response = stack.fetch(resource)
/// for await update in progress.updates { bar.show(update.bytesReceived, of: update.totalBytesToReceive) }
/// ```
///
/// The counts are those of the request on the wire now: a redirect or a retry begins again from zero. ``updates`` ends
/// when the call ends; of a stream, when its body does. One reporter serves one call: after its end it says no more.
///
/// No observer's code runs on the engine's thread, and a reader that is slow misses steps instead of holding the
/// transfer up.
public final class TransferProgressReporter: Sendable {
  /// The steps, the newest whenever one is read: between two readings any number may have passed. The last one is seen
  /// before the end. For one reader.
  public let updates: AsyncStream<TransferProgress>

  private struct State {
    var progress = TransferProgress()
    /// Counts requests on the wire: one that was given up may still have something to say.
    var generation: UInt64 = 0
    var isFinished = false
  }

  private let wake: AsyncStream<Void>.Continuation
  private let state: Lock<State>

  /// Makes a reporter for one call.
  public init() {
    let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let state = Lock(State())
    self.wake = wake
    self.state = state
    // What is read is the newest step, whichever thread was the last to wake the reader.
    updates = AsyncStream {
      for await _ in wakes { return state.withLock { $0.progress } }
      return nil
    }
  }

  /// The latest step. May be asked at any time, from any thread.
  public var current: TransferProgress { state.withLock { $0.progress } }

  /// Begins to count anew, for one request on the wire. The pipeline does so; code that drives a ``Transport`` without
  /// it calls this.
  ///
  /// - Parameter totalBytesToSend: length of the request's body, where it is known.
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

  /// One request on the wire, as a ``Transport`` reports of it. Once another has begun, what it says is ignored.
  ///
  /// Any thread may report. It takes a lock for some nanoseconds and resumes a waiting reader, which runs elsewhere;
  /// reporting every few kilobytes is nonetheless too often.
  package struct Transfer: Sendable {
    fileprivate let reporter: TransferProgressReporter
    fileprivate let generation: UInt64

    /// So many bytes of the request's body have been sent. Less than before where it is sent again.
    package func report(sent: Int64) { reporter.change(generation) { $0.bytesSent = sent } }

    /// So many bytes of the answer's body have come, of as many as its `Content-Length` says.
    package func report(received: Int64, of total: Int64?) {
      reporter.change(generation) { progress in
        progress.bytesReceived = received
        progress.totalBytesToReceive = total
      }
    }
  }
}
