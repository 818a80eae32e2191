// SPDX-License-Identifier: Apache-2.0

internal import Lastro

#if canImport(FoundationEssentials)
  internal import FoundationEssentials
#else
  internal import Foundation
#endif

/// The source of a streamed body, as its reader needs it.
protocol BodyBringer: AnyObject, Sendable {
  /// There is room for the body again.
  func resumeReceiving()
  /// The task that waits for more is cancelled.
  func readerCancelled()
  /// The body is not wanted any more.
  func readerLeft()
}

/// The reader's end of a streamed body.
final class StreamedBody: ResponseBodySource {
  private let job: any BodyBringer
  private let channel: BodyChannel

  init(_ job: any BodyBringer, _ channel: BodyChannel) {
    self.job = job
    self.channel = channel
  }

  var finalFacts: TransferFacts? { channel.finalFacts }

  func next() async throws(TransportError) -> Data? {
    let result = await withTaskCancellationHandler {
      await channel.take { [job] in job.resumeReceiving() }
    } onCancel: { [job] in
      job.readerCancelled()
    }
    return try result.get()
  }

  func cancel() {
    if !channel.isFinished { job.readerLeft() }
  }
}
